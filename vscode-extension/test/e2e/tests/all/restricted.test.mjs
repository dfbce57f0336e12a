// Restricted Mode: what is static works, what runs code or reaches an endpoint does not.
import { Preview, assert, describe, it } from '../../support/harness.mjs';

const TEXT = 'flowchart LR\n    PROBLEM([P]):::Interface --> A["Custom<br/>"]:::CustumOp --> RETURN([R]):::Interface\n';

describe(
  'Restricted Mode',
  (workbench) => {
    it('checks and previews, but offers nothing that needs trust', async () => {
      const w = workbench();
      await w.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
      await w.open('flow.mmd', TEXT);
      await w.page.locator('.monaco-editor .squiggly-error').first().waitFor();
      const preview = await Preview.open(w);
      await preview.shows('PROBLEM', 'A', 'RETURN');
      await w.shot('restricted');
      assert.equal(await w.offers('Merrow: Show Log'), true);
      assert.equal(await w.offers('Merrow: Set API Key'), false);
      assert.equal(await w.offers('Merrow: Set Up Model Access'), false);
    });

    it('takes no interpreter from the workspace', async () => {
      const w = workbench();
      const before = w.server.processes('start_server.py');
      w.write('.vscode/settings.json', JSON.stringify({ 'merrow.python': '/nonexistent/python' }));
      await w.open('other.mmd', TEXT);
      await w.page.locator('.monaco-editor .squiggly-error').first().waitFor();
      assert.deepEqual(w.server.processes('start_server.py'), before);
      assert.doesNotMatch(w.server.log(), /nonexistent/);
      w.remove('.vscode');
    });
  },
  { profile: 'restricted' },
);
