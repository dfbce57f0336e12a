// Another version of the extension is installed over one whose server is in the middle of a run: nothing of the user's is lost.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';
import { OLDER, merrow } from '../../support/vsix.mjs';

const FLOW = `---
workflow:
  prompts:
    pack: Pack the boxes.
    move: Move the boxes.
---
flowchart LR
    PROBLEM([Problem]):::Interface --> PACK["Custom<br/>(role: pack)"]:::CustomOp
    PACK --> MOVE["Custom<br/>(role: move)"]:::CustomOp
    MOVE --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;

describe(
  'A version installed over an older one',
  (workbench) => {
    it('keeps settings, runs and packages; its own server takes the place of the old one, and what was paid is not paid again', async () => {
      const w = workbench();
      const { page, server } = w;
      const model = await endpoint();
      const of = (version) => server.processes('start_server.py').filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`merrow.merrow-${version}`));
      const { version } = JSON.parse(readFileSync(path.join(import.meta.dirname, '..', '..', '..', '..', 'package.json'), 'utf8'));
      const settings = path.join(server.data, 'User', 'settings.json');

      model.hold((messages) => messages[0].content.includes('Move the boxes'));
      await w.open('house.mmd', FLOW);
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'Run house.mmd', 'From Rome to Paris');
      await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Run', exact: true }).click();
      await w.until(() => model.held === 1, 'the second node asks nothing');
      const [old] = of(OLDER);
      assert.ok(old, 'the older version has no server');
      assert.deepEqual(of(version), []);
      const chosen = readFileSync(settings, 'utf8');

      server.install(merrow());
      await w.reload();
      await w.open('house.mmd');
      await w.until(() => of(version).length === 1, 'the new version starts no server');
      await w.until(() => of(OLDER).length === 0, 'the server of the older version is still there');
      await w.lens('Run');
      assert.equal(readFileSync(settings, 'utf8'), chosen);
      model.release();

      // The run of the older version can be gone on with: no packages are set up, no consent is asked for, nothing is called twice.
      const runs = await w.runs();
      await runs.filter({ hasText: 'house.mmd' }).first().waitFor();
      const run = runs.filter({ hasText: /interrupted|cancelled|stopped/ }).first();
      await run.waitFor();
      await w.shot('upgrade-runs');
      // A click on a tree that is drawn again at that moment is lost.
      await w.again(async () => {
        await run.hover({ timeout: SOON });
        await run.getByRole('button', { name: 'Resume Run' }).click({ timeout: SOON });
        await run.waitFor({ state: 'detached', timeout: SOON });
      }, 'the run is not resumed');
      await w.runEnded('house.mmd');
      await w.shot('upgrade-resumed');
      assert.deepEqual([model.asked('Pack the boxes'), model.asked('Move the boxes')], [1, 2]);

      // The inputs and the consent of the older version hold, and so do its results: another run asks and calls for nothing.
      await w.open('house.mmd');
      await w.command('Merrow: Run Workflow');
      await w.until(async () => (await runs.filter({ hasText: /ago|now/ }).count()) === 2, 'the run asks for something');
      assert.equal(await page.locator('.monaco-dialog-box').count(), 0);
      assert.deepEqual([model.asked('Pack the boxes'), model.asked('Move the boxes')], [1, 2]);
      assert.deepEqual(of(OLDER), []);
    });
  },
  { profile: 'upgraded' },
);
