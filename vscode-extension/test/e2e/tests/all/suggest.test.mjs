// Suggestions of a model: what they may cost is said first; those that pass are looked at as differences and in pictures, with reason
// and scores; one is applied and undone. What asks for anything else than nodes, edges and prompts is not offered.
import { assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const FLOW = `---
workflow:
  model: suggesting-model
  budget: {tokens: 20000}
  prompts:
    solver: |
      Solve the problem.
    doubter: |
      Solve it in another way.
---
flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE["Custom<br/>(role: solver)"]:::CustomOp
    DOUBT["Custom<br/>(role: doubter)"]:::CustomOp
    VOTE["ScEnsemble<br/>"]:::ScEnsembleOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SOLVE
    PROBLEM -->|input| DOUBT
    SOLVE --> VOTE
    DOUBT --> VOTE
    VOTE --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37
`;
const NEW = 'Solve the problem. Check each step.';
const BODY = FLOW.slice(FLOW.indexOf('flowchart'));
const CHECKED = `---
workflow:
  prompts:
    checker: Check the solution step by step, and answer with it, corrected.
---
${BODY.replace('    VOTE["', '    CHECK["Custom<br/>(role: checker)"]:::CustomOp\n    VOTE["').replace('VOTE --> RETURN', 'VOTE --> CHECK\n    CHECK --> RETURN')}`;
const candidates = [
  { title: 'Check each step <img src=x onerror=alert(1)>', reason: 'Slips are found. **bold**', moves: [{ prompt: { node: 'SOLVE', text: NEW } }], workflow: null },
  { title: 'Check the winner', reason: 'A last look finds what all overlooked.', moves: [], workflow: CHECKED },
  { title: 'Spend more', reason: 'No limit.', moves: [], workflow: FLOW.replace('20000', '9000000') },
];
const PAGE = '.panes .picture:not(.building) svg';

function answer(messages) {
  const [, { content }] = messages;
  if (content.includes('verdicts')) {
    const shown = JSON.parse(/The candidates, as differences:\n<<<\w+\n(.*)\n/.exec(content)[1]);
    const verdicts = shown.map(({ candidate, title }) => {
      const score = title.startsWith('Check the winner') ? 9 : 6;
      return { candidate, reason: 'It fits.', coherence: score, fit: score, economy: score, prompts: score, soundness: score };
    });
    return JSON.stringify({ verdicts });
  }
  return JSON.stringify({ candidates: messages.length > 2 ? candidates.slice(2) : candidates });
}

describe(
  'Suggestions of a model',
  (workbench) => {
    it('are checked, judged, looked at, applied and undone', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(answer);
      await w.open('suggest.mmd', FLOW);
      await w.lens();
      await w.command('Merrow: Suggest Improvements with the Model');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      assert.match(await dialog.innerText(), /3 to 19 calls to suggesting-model at http:\/\/127\.0\.0\.1:\d+.*the price is not known/s);
      await w.shot('suggest-consent');
      await dialog.getByRole('button', { name: 'Ask the Model', exact: true }).click();
      const rows = page.locator('.quick-input-list .monaco-list-row');
      await rows.filter({ hasText: 'Check the winner' }).waitFor();
      assert.equal(await rows.filter({ hasText: 'Spend more' }).count(), 0);
      assert.match(await rows.first().innerText(), /Check the winner/);
      await w.shot('suggest-list');
      await rows.filter({ hasText: 'Check the winner' }).first().click();
      const frame = await w.frame(PAGE);
      await w.until(async () => (await frame.locator(PAGE).count()) === 2, 'there are no two pictures');
      await frame.locator('.pane:last-child .touched.added').first().waitFor();
      assert.equal(await frame.locator('h1').innerText(), 'Check the winner');
      assert.match(await frame.locator('header').innerText(), /Adds CHECK.*45\.0 of 50.*A last look.*A run: \d+ to \d+ calls.*The judge: It fits\./s);
      await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
      await w.shot('suggest');
      await frame.getByRole('button', { name: 'Next' }).click();
      await frame.locator('h1', { hasText: 'Check each step <img' }).waitFor();
      assert.equal(await frame.locator('header img').count(), 0);
      assert.match(await frame.locator('header').innerText(), /\*\*bold\*\*/);
      await frame.getByRole('button', { name: 'Apply' }).click();
      await page.locator('.tab', { hasText: '↔' }).waitFor({ state: 'detached' });
      await w.save('suggest.mmd', FLOW.replace('Solve the problem.', NEW));
      await w.undo('suggest.mmd', FLOW);
      model.answerWith(undefined);
    });

    it('are offered for the prompt of a node, and can be cancelled', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.hold((messages) => messages.length === 2 && messages[1].content.includes('new prompts of the node'));
      await w.open('suggest.mmd', FLOW);
      await w.lens();
      await w.goTo(13, 6);
      const action = page.locator('.action-widget .monaco-list-row', { hasText: 'Improve this prompt with the model' }).first();
      await w.until(async () => {
        await page.keyboard.press('Control+.');
        return action.waitFor({ timeout: 5000 }).then(() => true, () => false);
      }, 'no code action leads to suggestions');
      await action.click();
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.getByRole('button', { name: 'Ask the Model', exact: true }).click();
      await w.until(() => model.held === 1, 'the model is not asked');
      await w.answerNotification('Asking the model', 'Cancel');
      model.release();
      assert.equal(w.read('suggest.mmd'), FLOW);
    });
  },
  { profile: 'endpoint', shared: true },
);
