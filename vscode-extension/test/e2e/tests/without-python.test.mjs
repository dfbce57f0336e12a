// A machine without Python: a clear message with buttons, and the editor goes on.
import { assert, describe, it } from '../support/harness.mjs';

describe(
  'Without Python',
  (workbench) => {
    it('says what is missing and what to do', async () => {
      const w = workbench();
      await w.open('flow.mmd', 'flowchart LR\n    A --> B\n');
      const toast = w.toasts().filter({ hasText: /can't start/ });
      await toast.waitFor();
      assert.match(await toast.innerText(), /Python 3\.11/);
      await toast.getByRole('button', { name: 'Select Python' }).waitFor();
      await toast.getByRole('button', { name: 'Get Python' }).waitFor();
      await w.shot('without-python');
      await w.goTo(2, 1);
      await w.page.keyboard.press('End');
      await w.page.keyboard.type(' --> C');
      await w.page.locator('.view-line', { hasText: 'A --> B --> C' }).waitFor();
    });

    it('says so in the preview too', async () => {
      const w = workbench();
      await w.open('flow.mmd', 'flowchart LR\n    A --> B\n');
      await w.command('Merrow: Open Preview to the Side');
      const frame = await w.frame('body[data-engine] .viewport');
      await frame.locator('.placeholder', { hasText: 'language server' }).waitFor();
      await w.shot('without-python-preview');
    });
  },
  { profile: 'withoutPython' },
);
