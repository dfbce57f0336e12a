// A model that the endpoint does not serve is told before a run, with a button that uses one that it does.
import { assert, describe, it } from '../../support/harness.mjs';
import { listingEndpoint } from '../../support/endpoint.mjs';

const FLOW = `---
workflow: {model: gone}
---
flowchart LR
    PROBLEM([Problem]):::Interface --> A["Custom<br/>(prompt: 'Solve it.')"]:::CustomOp
    A --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;

describe(
  'Models that are served',
  (workbench) => {
    it('a run of one that is not served uses another, as the user says', async () => {
      const w = workbench();
      const { page } = w;
      const model = await listingEndpoint();
      await w.open('gone.mmd', FLOW);
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'Run gone.mmd', 'What is 7 times 8?');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.filter({ hasText: 'asks for a model that is not served' }).waitFor();
      assert.match(await dialog.innerText(), /Use tiny\?.*It has no model “gone”; use one of: “tiny”/s);
      await w.shot('model-not-served');
      assert.deepEqual(model.models, []);
      await dialog.getByRole('button', { name: 'Use This Model', exact: true }).click();
      await dialog.filter({ hasText: 'Run gone.mmd?' }).waitFor();
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      await w.runEnded('gone.mmd');
      assert.deepEqual(model.models, ['tiny']);
    });

    it('what is served is listed, and one is used from then on', async () => {
      const w = workbench();
      const { page } = w;
      const model = await listingEndpoint();
      model.served = ['tiny', 'small'];
      await w.open('open.mmd', FLOW.replace('workflow: {model: gone}', 'workflow: {}'));
      await w.command('Merrow: Use a Model That Is Served...');
      const choice = page.locator('.quick-input-widget .monaco-list-row', { hasText: 'small' }).first();
      await choice.waitFor();
      await w.shot('models-served');
      await choice.click();
      await page.locator('.notification-list-item', { hasText: 'Runs ask small at http://127.0.0.1:' }).waitFor();
      await page.locator('.statusbar-item', { hasText: `small @ ${new URL(model.url).host}` }).waitFor();
    });
  },
  { profile: 'listing' },
);
