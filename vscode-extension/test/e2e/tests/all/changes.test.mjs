// Before and after a change of a long workflow: what a repair and what a suggestion changes is marked, and in the middle of both pictures.
import { assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const STEPS = Array.from({ length: 30 }, (_, at) => `S${at + 1}`);
const arrows = (ids) => ids.slice(1).map((id, at) => `    ${ids[at]} --> ${id}\n`).join('');
const flow = (lines) => `---
workflow:
  model: suggesting-model
---
flowchart TD
    PROBLEM([Problem]):::Interface
${STEPS.map((id) => `    ${id}["Custom<br/>(prompt: Go on.)"]\n`).join('')}    RETURN([Answer]):::Interface
    PROBLEM -->|input| S1
${lines}    S30 --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const WHOLE = flow(arrows(STEPS));
const BROKEN = flow(arrows(STEPS.slice(0, 20)) + arrows(STEPS.slice(20)));
const SUGGESTED = WHOLE.replace('    S20 --> S21\n', '    CHECK["Custom<br/>(prompt: Check it.)"]\n    S20 --> CHECK\n    CHECK --> S21\n').replace('  model: suggesting-model\n', '  prompts: {}\n');
const PAGE = '.panes .picture:not(.building) svg';

/** How far from the middle of a pane the nearest thing is that is marked there: 0 in the middle, 1 at the edge. */
async function distance(frame, pane) {
  return frame.locator(`.pane:${pane}-child`).evaluate((element) => {
    const view = element.querySelector('.viewport').getBoundingClientRect();
    const away = [...element.querySelectorAll('.touched, .touched-edge')].map((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return Math.max(Math.abs(left + right - view.left - view.right) / view.width, Math.abs(top + bottom - view.top - view.bottom) / view.height);
    });
    return Math.min(...away);
  });
}

/** Where two parts that a change joins lie far from each other, one of them is in the middle. */
async function inTheMiddle(w, frame, pane) {
  await frame.locator(`.pane:${pane}-child`).locator('.touched, .touched-edge').first().waitFor({ state: 'attached' });
  await w.until(async () => (await distance(frame, pane)) < 0.4, `the change is not in the middle of the ${pane} picture`);
}

describe(
  'Before and after',
  (workbench) => {
    it('a repair is marked, and in the middle', async () => {
      const w = workbench();
      await w.open('long.mmd', BROKEN);
      await w.lens();
      await w.command('Merrow: Repair This Workflow');
      const frame = await w.frame(PAGE);
      await w.until(async () => (await frame.locator(PAGE).count()) === 2, 'there are no two pictures');
      for (const pane of ['first', 'last']) await inTheMiddle(w, frame, pane);
      assert.ok((await frame.locator('.pane:last-child .touched-edge.added').count()) > 0);
      assert.match(await frame.locator('.kinds').innerText(), /1 arrow added/);
      await w.shot('changes-repair');
      await frame.getByRole('button', { name: 'Cancel' }).click();
      await w.page.locator('.tab', { hasText: '↔' }).waitFor({ state: 'detached' });
    });

    it('a suggestion is marked, and in the middle', async () => {
      const w = workbench();
      const model = await endpoint();
      model.answerWith(() => JSON.stringify({ candidates: [{ title: 'Check it half-way', reason: 'Slips are found.', moves: [], workflow: SUGGESTED }] }));
      await w.open('long.mmd', WHOLE);
      await w.lens();
      await w.command('Merrow: Suggest Improvements with the Model');
      await w.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Ask the Model', exact: true }).click();
      const frame = await w.frame(PAGE);
      await w.until(async () => (await frame.locator(PAGE).count()) === 2, 'there are no two pictures');
      for (const pane of ['first', 'last']) await inTheMiddle(w, frame, pane);
      assert.equal(await frame.locator('.pane:last-child .touched.added').count(), 1);
      await w.shot('changes-suggestion');
      model.answerWith(undefined);
    });
  },
  { profile: 'endpoint', shared: true },
);
