// Searches for better workflows: agreed to, watched, stopped, gone on with, reported, in the tree, above the workflow, as a difference.
import { SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>';
const FLOW = `---
workflow:
  prompts:
    sum: 'Add the numbers. ${HOSTILE}'
---
flowchart LR
    PROBLEM([Problem]):::Interface --> SUM["Custom<br/>(role: sum)"]:::CustomOp
    SUM --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const DATA = Array.from({ length: 60 }, (_, n) => `${JSON.stringify({ id: `q${n}`, question: `What is ${n} plus ${n}?`, answer: String(2 * n) })}\n`).join('');

/** Rarely right by the first prompt alone, always where anybody else has a look; what another one answered is passed on. */
const sums = (messages) => {
  const said = JSON.stringify(messages);
  const n = /What is (\d+)/.exec(said)?.[1];
  if (n === undefined) return /(\d+)\D*$/.exec(said)?.[1] ?? '7';
  return messages[0].content.startsWith('Add the numbers') && Number(n) % 8 !== 0 ? '7.5' : String(2 * Number(n));
};

describe(
  'Searches',
  (workbench) => {
    it('cost what was agreed to, are stopped and gone on with, and their candidates are compared and applied', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(sums);
      let asked = 0;
      model.hold(() => (asked += 1) > 60);
      await w.open('own.jsonl', DATA);
      await w.open('sums.mmd', FLOW);
      await w.lens('Run');
      await w.command('Merrow: Optimize This Workflow...');
      for (const [question, choice] of [
        ['How are candidates chosen?', 'climb'],
        ['The data:', 'own.jsonl'],
        ['The field with the right answer', 'answer'],
        ['An answer is right when', 'numeric'],
        ['Options of numeric', 'As Usual'],
        ['The field that PROBLEM gets', 'question'],
        ['Who makes candidates?', 'Safe changes'],
        ['At most how many answers', '500 answers'],
      ]) await w.pick(question, choice);
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      await w.shot('optimize-consent');
      assert.match(await dialog.innerText(), /40 items of .*own\.jsonl \(part all\) to search with, 20 set aside.*That affords about.*http:\/\/127/s);
      assert.equal(model.asked('Add the numbers'), 0);
      await dialog.getByRole('button', { name: 'Search', exact: true }).click();
      const progress = page.locator('.notification-toast', { hasText: 'Searching for a better sums.mmd' });
      await progress.getByText(/of 460 answers, best so far/).waitFor();
      await w.shot('optimize-going-on');
      await w.until(async () => {
        if (await progress.isVisible()) await progress.getByRole('button', { name: 'Cancel' }).click().catch(() => undefined);
        return !(await progress.isVisible());
      }, 'the search is not stopped');
      model.release();
      await w.answerNotification('was stopped; finished work is kept', 'Continue');
      // The report of what was stopped gives way to another page.
      await w.notification('has ended: +0.');
      const report = await w.frame('h1:has-text("Search for a better sums.mmd")');
      await report.locator('p', { hasText: 'Held out: best' }).waitFor();
      assert.equal(await report.locator('img').count(), 0);
      assert.doesNotMatch(await report.locator('header').innerText(), /\/(?:tmp|dev|home|root)\//);
      const best = report.locator('.space > .row[data-verdict="best"]');
      await best.click();
      const detail = report.locator('aside');
      await detail.locator('.drawing svg').waitFor();
      assert.ok((await detail.locator('pre').last().textContent()).includes(HOSTILE));
      await w.shot('optimize-report');
      await report.locator('summary', { hasText: 'Charts' }).click();
      await report.locator('figcaption', { hasText: 'Rounds by number' }).scrollIntoViewIfNeeded();
      await w.shot('optimize-charts');
      // The message lies over the page until it is answered.
      await w.answerNotification('has ended: +0.', 'Compare');
      await page.locator('.monaco-diff-editor .view-lines', { hasText: 'Merrow search' }).first().waitFor();
      await w.shot('optimize-difference');
      const tab = page.locator('.tab', { hasText: 'Search for a better sums.mmd' });
      const act = async (name, outcome) => {
        await tab.click();
        await detail.getByRole('button', { name }).click();
        await outcome.first().waitFor();
      };
      await act('Show Difference', page.locator('.tab.active', { hasText: /round \d+ of search/ }));
      await act('Apply', page.locator('.tab.active[aria-label^="sums.mmd"]:not([aria-label*="↔"])'));
      await w.until(async () => (await w.text()).includes('ASSEMBLE'), 'the candidate is not in the file');
      await w.shot('optimize-applied');
      await page.locator('.monaco-editor[data-uri$="sums.mmd"] .view-lines').first().click();
      await page.keyboard.press('ControlOrMeta+z');
      await w.until(async () => !(await w.text()).includes('ASSEMBLE'), 'the change is not undone');
    });

    it('are folded in the tree, and a better version is above the workflow', async () => {
      const w = workbench();
      const { page } = w;
      await w.open('sums.mmd', FLOW);
      await w.lens('Better version: +0.');
      await w.shot('optimize-lens');
      const group = (await w.runs()).filter({ hasText: 'Searches' }).first();
      await group.waitFor();
      assert.equal(await group.getAttribute('aria-expanded'), 'false');
      const shown = page.locator('.monaco-list-row', { hasText: /sums\.mmd: \+0\.\d+ \(held-out, p/ });
      await w.until(async () => {
        if ((await shown.count()) >= 1) return true;
        if ((await group.getAttribute('aria-expanded')) === 'false') await group.click();
        return false;
      }, 'the tree does not have the search');
      await w.shot('optimize-tree');
      await w.again(async () => {
        await shown.first().click({ timeout: SOON });
        const report = await w.frame('h1:has-text("Search for a better sums.mmd")');
        await report.locator('p', { hasText: 'Held out: best' }).waitFor({ timeout: SOON });
      }, 'the report is not opened from the tree');
    });
  },
  { profile: 'endpoint' },
);
