// Evaluations: asked what on, what they may cost, watched, stopped, gone on with, in a table, in the tree and in the Test Explorer.
import { assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const FLOW = `flowchart LR
    PROBLEM([Problem]):::Interface --> SUM["Custom<br/>(role: sum)"]:::CustomOp
    SUM --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const HEAD = `---
workflow:
  prompts:
    sum: Add the numbers.
---
`;
/** The texts of the last item are hostile: they must be shown as they are. */
const HOSTILE = '<img src=x onerror="document.body.textContent=666">';
const ROWS = [1, 2, 3, 4].map((n) => ({ id: `q${n}`, question: `What is ${n} plus ${n}?`, answer: String(2 * n) }));
const DATA = [...ROWS, { id: HOSTILE, question: 'What is 5 plus 5?', answer: HOSTILE }].map((row) => `${JSON.stringify(row)}\n`).join('');

const CASES = `cases:
  - id: two
    inputs: { PROBLEM: What is 2 plus 2? }
    expect: [{ exact: "4" }]
  - id: three
    inputs: { PROBLEM: What is 3 plus 3? }
    expect: [{ exact: "6" }]
`;

/** The sum that is asked for; that of 3 and 3 is wrong, and of 5 and 5 hostile. */
const sums = (messages) => {
  const [, n] = /What is (\d)/.exec(messages.at(-1).content) ?? [];
  return n === undefined ? undefined : n === '3' ? '7' : n === '5' ? `10 ${HOSTILE}` : String(2 * Number(n));
};

describe(
  'Evaluations',
  (workbench) => {
    it('are asked for step by step, cost what was agreed to, and have a table of results', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(sums);
      model.hold((messages) => messages.at(-1).content.includes('4 plus 4'));
      await w.open('own.jsonl', DATA);
      await w.open('sums.mmd', HEAD + FLOW);
      await w.lens('Run');
      await w.command('Merrow: Evaluate This Workflow...');
      for (const [asked, choice] of [
        ['The data:', 'own.jsonl'],
        ['The field with the right answer', 'answer'],
        ['An answer is right when', 'contains'],
        ['The field that PROBLEM gets', 'question'],
        ['At most how many items?', 'All items'],
      ]) await w.pick(asked, choice);
      await w.pickSeveral('Anything else?', ['Scores that must be reached', 'Several answers to each item']);
      await w.type('The least score that passes');
      await w.type('Several answers to each item: how many', '1');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      await w.shot('evaluation-consent');
      assert.match(await dialog.innerText(), /5 items of .*own\.jsonl \(part all\).*5 calls to http:\/\/127/s);
      assert.equal(model.asked('Add the numbers'), 0);
      await dialog.getByRole('button', { name: 'Evaluate', exact: true }).click();
      const progress = page.locator('.notification-toast', { hasText: 'Evaluating sums.mmd' });
      await progress.getByText(/4 of 5 answers, score/).waitFor();
      await w.shot('evaluation-going-on');
      await w.until(async () => {
        if (await progress.isVisible()) await progress.getByRole('button', { name: 'Cancel' }).click().catch(() => undefined);
        return !(await progress.isVisible());
      }, 'the evaluation is not stopped');
      const report = await w.frame('.grid');
      await report.locator('h1', { hasText: /on 4 items|on 3 items/ }).waitFor();
      await w.shot('evaluation-stopped');
      model.release();
      await report.getByRole('button', { name: 'Continue' }).click();
      await report.locator('button[data-verdict="right"]', { hasText: /^3 right$|^4 right$/ }).waitFor();
      await report.getByRole('button', { name: 'Continue' }).waitFor({ state: 'detached' });
      const rows = report.locator('.space > .row');
      await w.until(async () => (await rows.count()) === 5, 'the results do not have all items');
      assert.notEqual(await rows.first().getAttribute('data-verdict'), 'right');
      assert.match(await report.locator('.gate').innerText(), /^(failed|passed): at least 0\.9$/);
      assert.equal(await report.locator('main img').count(), 0);
      assert.ok((await report.locator('main').innerText()).includes(HOSTILE));
      assert.ok(await report.locator('main').evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is cut off');
      // Sorted, filtered and searched.
      const sorts = report.getByRole('columnheader', { name: 'Item' });
      for (const order of ['ascending', 'descending', 'none']) {
        await sorts.getByRole('button').click();
        await sorts.and(report.locator(`[aria-sort="${order}"]`)).waitFor();
      }
      await report.locator('button[data-verdict="right"]').click();
      await w.until(async () => (await rows.count()) < 5, 'the rows are not filtered');
      await report.locator('button[data-verdict="right"]').click();
      await report.locator('input[type="search"]').fill('3 plus 3');
      await w.until(async () => (await rows.count()) === 1, 'the rows are not searched');
      assert.match(await report.locator('.status').innerText(), /^1 of 5 rows$/);
      await w.shot('evaluation-found');
      // What a person says of an answer; said again, it is taken back.
      await rows.first().click();
      const detail = report.locator('aside');
      await detail.locator('h2', { hasText: 'q3' }).waitFor();
      const bad = detail.getByRole('button', { name: 'bad' });
      for (const pressed of ['true', 'false', 'true']) {
        await bad.click();
        await bad.and(report.locator(`[aria-pressed="${pressed}"]`)).waitFor();
      }
      await report.locator('input[type="search"]').fill('');
      await w.until(async () => (await rows.count()) === 5, 'the rows are not all there again');
      await w.shot('evaluation-report');
      // By keys: from the first row to the last one and back, and to the run of a row.
      await report.locator('.grid').focus();
      await page.keyboard.press('End');
      await report.locator('.row.active[aria-rowindex="6"][aria-selected="true"]').waitFor();
      await page.keyboard.press('Home');
      await report.locator('.row.active[aria-rowindex="2"][aria-selected="true"]').waitFor();
      await page.keyboard.press('ArrowDown');
      await report.locator('.grid[aria-activedescendant="row-1"]').waitFor();
      await rows.filter({ hasText: 'q3' }).first().click();
      await page.keyboard.press('Enter');
      const panel = await w.frame('button[data-act="case"]');
      await panel.locator('main', { hasText: '7' }).waitFor();
      await w.shot('evaluation-run');
      await panel.getByRole('button', { name: 'Save as Case' }).click();
      await page.locator('.tab.active[aria-label*="sums.cases.yaml"]').waitFor();
      await w.until(async () => (await w.text()).includes('id: what-is-3-plus-3'), 'the case is not in its file');
      await w.shot('evaluation-case');
    });

    it('are in the tree and above the workflow, and two are compared', async () => {
      const w = workbench();
      const { page } = w;
      await w.open('sums.mmd', HEAD + FLOW);
      await w.lens('Score');
      await w.shot('evaluation-lens');
      await w.command('Merrow: Evaluate This Workflow...');
      // All answers are known by now: nothing is paid, so nobody is asked.
      await w.pick('The data:', 'As Last Time');
      await w.frame('.grid');
      const shown = (await w.runsOf('Evaluations')).filter({ hasText: /sums\.mmd: 0\./ });
      await w.until(async () => (await shown.count()) >= 2, 'the tree does not have both evaluations');
      await w.shot('evaluation-tree');
      const compared = page.locator('.tab', { hasText: 'Comparison of sums.mmd' });
      await w.chooseForBoth(shown.nth(0), shown.nth(1), 'Compare Evaluations...', compared);
      const both = await w.frame('h1:has-text("Difference")');
      await both.locator('button[data-verdict="same"]').waitFor();
      assert.deepEqual(await both.locator('.heads [role=columnheader]').allInnerTexts(), ['Item', 'PROBLEM', 'Before', 'After', 'Expected', 'Turned', 'Cost', 'Time']);
      await w.shot('evaluation-compared');
    });

    it('of cases are in the Test Explorer, with what was expected and what came', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(sums);
      await w.open('sums.mmd', HEAD + FLOW);
      await w.open('sums.cases.yaml', CASES);
      await page.locator('.activitybar a.action-label[aria-label^="Testing"]').click();
      const tests = page.locator('.test-explorer .monaco-list-row');
      const file = tests.filter({ hasText: 'sums.cases.yaml' });
      await file.waitFor();
      await w.until(async () => {
        if ((await tests.filter({ hasText: 'three' }).count()) > 0) return true;
        await file.click();
        await page.keyboard.press('ArrowRight');
        return false;
      }, 'the cases are not listed');
      await w.shot('evaluation-tests');
      await w.until(async () => {
        await file.hover();
        await file.locator('.codicon-testing-run-icon').first().click({ timeout: 2000 }).catch(() => undefined);
        return (await tests.locator('.codicon-testing-failed-icon').count()) > 0;
      }, 'no case fails');
      await tests.filter({ hasText: 'two' }).locator('.codicon-testing-passed-icon').waitFor();
      await w.shot('evaluation-tests-ended');
    });

    it('of data are in the Test Explorer, item by item', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(sums);
      await w.open('sums.mmd', HEAD + FLOW);
      // It is open since the test before, and a click would close it.
      const explorer = page.locator('.test-explorer');
      if (!(await explorer.isVisible())) await page.locator('.activitybar a.action-label[aria-label^="Testing"]').click({ force: true });
      const tests = page.locator('.test-explorer .monaco-list-row');
      const data = tests.filter({ hasText: 'sums.mmd on own.jsonl' }).first();
      await data.waitFor();
      await w.until(async () => {
        if ((await tests.filter({ hasText: 'q3' }).count()) > 0) return true;
        await data.click({ timeout: 2000 }).catch(() => undefined);
        await page.keyboard.press('ArrowRight');
        return false;
      }, 'the items are not listed');
      await w.until(async () => {
        await data.hover();
        await data.locator('.codicon-testing-run-icon').first().click({ timeout: 2000 }).catch(() => undefined);
        return (await tests.filter({ hasText: 'q3' }).locator('.codicon-testing-failed-icon').count()) > 0;
      }, 'the wrong item does not fail');
      await tests.filter({ hasText: 'q1' }).locator('.codicon-testing-passed-icon').waitFor();
      await w.shot('evaluation-data-ended');
    });
  },
  { profile: 'endpoint' },
);
