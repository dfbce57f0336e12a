// Which model and endpoint answer is in sight, and one click away from another; the figures of a workflow are a page.
import { SOON, assert, describe, it } from '../../support/harness.mjs';
import { KEY, endpoint } from '../../support/endpoint.mjs';

const FLOW = `flowchart LR
    PROBLEM([Problem]):::Interface -->|input| SOLVE["Custom<br/>(role: solver)"]:::CustomOp
    SOLVE --> RETURN([Answer]):::Interface
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
`;

describe(
  'Model and endpoint',
  (workbench) => {
    it('are in the status bar; a click changes them, and no key is shown', async () => {
      const w = workbench();
      const { page } = w;
      const host = new URL((await endpoint()).url).host;
      const bar = (words) => page.locator('.statusbar-item', { hasText: words });
      const choose = async (words) => {
        const row = page.locator('.quick-input-list .monaco-list-row', { hasText: words }).first();
        await w.again(async () => {
          await bar(/ @ |embedded model/).first().click({ timeout: SOON });
          await row.waitFor({ timeout: SOON });
          await w.still(page.locator('.quick-input-list .monaco-list-row'));
          if (words === 'Set Model') await w.shot('model-choice');
          await row.click({ timeout: SOON });
          await row.waitFor({ state: 'hidden', timeout: SOON });
        }, `the choice does not take ${words}`);
      };
      await w.open('who.mmd', FLOW);
      await bar(`gpt-4o-mini @ ${host}`).waitFor();
      await choose('Set Model');
      await page.locator('.quick-input-widget', { hasText: 'Merrow: Set Model' }).waitFor();
      await w.answer('gpt-4.1');
      await bar(`gpt-4.1 @ ${host}`).waitFor();
      await choose('Run the Doctor');
      const panel = await w.frame('main > .value');
      await panel.locator('li', { hasText: host }).first().waitFor();
      await w.shot('model-doctor');
      assert.doesNotMatch(await panel.locator('main').innerText(), new RegExp(KEY));
      await choose('Use the Embedded Model');
      await bar('embedded model').waitFor();
      await w.shot('model-embedded');
      await choose('Set Endpoint');
      await page.locator('.quick-input-widget', { hasText: 'Merrow: Set Endpoint' }).waitFor();
      await w.answer('');
      await bar(`gpt-4.1 @ ${host}`).waitFor();
      await choose('Set Model');
      await page.locator('.quick-input-widget', { hasText: 'Merrow: Set Model' }).waitFor();
      await w.answer('');
      await bar(`gpt-4o-mini @ ${host}`).waitFor();
    });

    it('the figures of a workflow are a page', async () => {
      const w = workbench();
      await w.open('who.mmd', FLOW);
      await w.lens('Run');
      await w.again(async () => {
        await (await w.lens('subtask')).click({ timeout: SOON });
        await w.page.locator('.tab', { hasText: 'Figures of who' }).first().waitFor({ timeout: SOON });
      }, 'the lens opens no page of figures');
      const page = await w.frame('h1:has-text("Figures of who.mmd")');
      await page.locator('td', { hasText: 'Parallelism' }).waitFor();
      await w.shot('figures');
      assert.equal(await w.toasts().count(), 0);
    });
  },
  { profile: 'endpoint', shared: true },
);
