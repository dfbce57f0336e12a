// A machine without Python: a clear message with buttons, and the editor goes on.
import { assert, describe, it } from '../../support/harness.mjs';

describe(
  'Without Python',
  (workbench) => {
    it('says what is missing and what to do', async () => {
      const w = workbench();
      await w.open('flow.mmd', 'flowchart LR\n    A --> B\n');
      const toast = await w.notification(/can't start/);
      assert.match(await toast.innerText(), /Python 3\.11/);
      await toast.getByRole('button', { name: 'Select Python' }).waitFor();
      await toast.getByRole('button', { name: 'Get Python' }).waitFor();
      await w.shot('without-python');
      await w.insert(2, 12, ' --> C', 'A --> B --> C');
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
