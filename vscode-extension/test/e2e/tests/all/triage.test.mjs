// Mails that are sorted and answered, as by somebody who is new: a workflow from a pattern, all rows of their own file answered, the
// answers scored field by field, the table of what was taken for what, and the run of a wrong one.
import { SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

/** The last one is what the others tests of the profile have. */
const THEMES = [
  ['Dark Modern', 'vscode-dark', 'dark'],
  ['Dark High Contrast', 'vscode-high-contrast', 'high-contrast'],
  ['Light Modern', 'vscode-light', 'light'],
];
const MAILS = `mail,category,urgent,named
"Invoice 71 has the wrong price. Please send a new one. Ada",billing,no,invoice 71
"Where is parcel 9? The fair begins tomorrow. Ines",delivery,yes,parcel 9
"The app shows only a white page. Bo",technical,no,white page
"I was charged twice and can't pay my rent. Cy",billing,yes,charged twice
"Do you have an open day? Di",other,no,open day
"The box came open and half is missing. Ed",delivery,yes,half is missing
`;
const CATEGORIES = [['Invoice', 'billing'], ['charged', 'other'], ['parcel', 'delivery'], ['box', 'delivery'], ['white page', 'technical'], ['open day', 'other']];

/** Of six mails one is taken for another category, one is urgent and not taken so, and all but its replies name what was asked. */
function answer(messages) {
  const text = messages.map(({ content }) => content).join('\n');
  const mail = MAILS.split('\n').slice(1).map((line) => /"(.*)"/.exec(line)?.[1] ?? '-').find((one) => text.includes(one)) ?? '';
  if (text.includes('Which category')) return JSON.stringify({ response: CATEGORIES.find(([word]) => mail.includes(word))?.[1] ?? 'other' });
  if (text.includes('Is this mail urgent')) return JSON.stringify({ response: /fair|rent/.test(mail) });
  if (text.includes('List what the reply')) return 'what is asked for';
  return `Thank you for your mail: ${mail.toLowerCase()} We write again today.`;
}

describe(
  'Mails that are sorted and answered',
  (workbench) => {
    it('are a workflow from a pattern, a batch, and a table of fields with what was taken for what', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(answer);
      w.write('mails.csv', MAILS);
      // 1. A new workflow.
      const patterns = page.locator('.quick-input-widget input[placeholder^="Start from which pattern?"]');
      await w.command('Merrow: New Workflow...');
      await patterns.waitFor();
      await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Triage mails' }).waitFor();
      await w.shot('triage-patterns');
      await w.pick('Start from which pattern?', 'Triage mails');
      await w.type('The name of the new file');
      await page.locator('.tab.active[aria-label*="triage.mmd"]').waitFor();
      await w.lens('Run');
      assert.equal(await page.locator('.monaco-editor .squiggly-error, .monaco-editor .squiggly-warning').count(), 0);
      await w.shot('triage-new');
      // Another one has another name, and what is there stays.
      await w.command('Merrow: New Workflow...');
      await w.pick('Start from which pattern?', 'Triage mails');
      const name = page.locator('.quick-input-widget', { hasText: 'The name of the new file' }).locator('input').first();
      await w.until(async () => (await name.inputValue()) === 'triage_2.mmd', 'no other name is proposed');
      await name.fill('triage');
      await page.locator('.quick-input-widget', { hasText: 'triage.mmd already exists' }).waitFor();
      await page.keyboard.press('Escape');
      await name.waitFor({ state: 'hidden' });
      // 2. All rows answered.
      await w.command('Merrow: Run on Every Row of a Data Set...');
      await page.locator('.quick-input-list .monaco-list-row', { hasText: 'comes with Merrow' }).first().waitFor();
      await w.shot('triage-data');
      await w.pick('The data', 'mails.csv');
      await w.pick('The field that PROBLEM gets', 'mail');
      await w.pick('At most how many items?', 'All items');
      await page.locator('.quick-input-widget input[placeholder^="Anything else?"]').waitFor();
      await w.shot('triage-batch-more');
      await w.pickSeveral('Anything else?', ['Budget in US dollars', 'Budget in tokens']);
      // Nobody knows what this model costs: that is said at once, and the answers so far stay.
      await w.type('Budget in US dollars: stop once this much is spent', '1');
      const refusal = page.locator('.monaco-dialog-box', { hasText: "a budget in US dollars can't be kept" });
      await refusal.waitFor();
      await w.shot('triage-no-price');
      await refusal.getByRole('button', { name: 'Go On Without This Budget' }).click();
      await w.type('Budget in tokens: stop at this many', '90000');
      const save = page.locator('.quick-input-widget', { hasText: 'Show Local' });
      await save.waitFor();
      await w.until(async () => (await save.locator('input').first().inputValue()).endsWith('/mails.answers.csv'), 'no file is proposed');
      await save.getByRole('button', { name: 'OK', exact: true }).click();
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      await w.shot('triage-batch-consent');
      assert.match(await dialog.innerText(), /6 items of mails\.csv \(part all\): 24 calls to http:\/\/127/s);
      assert.equal(model.questions.length, 0);
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      const batch = await w.frame('.grid');
      await w.until(async () => (await batch.locator('.space > .row').count()) === 6, 'not all rows are answered');
      await batch.locator('button[data-verdict="answered"]', { hasText: '6 answered' }).waitFor();
      assert.deepEqual(await batch.locator('.heads [role=columnheader]').allInnerTexts(), ['Item', 'PROBLEM', 'category', 'urgent', 'reply', 'Verdict', 'Cost', 'Time']);
      await w.shot('triage-batch');
      const paid = model.questions.length;
      assert.equal(paid, 24);
      // 3. Scored, which pays for nothing again.
      await w.closeEditors();
      await w.open('triage.mmd');
      await w.lens('Run');
      await w.command('Merrow: Evaluate This Workflow...');
      await w.pick('The data', 'mails.csv');
      await w.pick('What is scored?', 'Fields of the Answer');
      await w.pickSeveral('Which fields of the answer are scored?', ['category', 'urgent', 'reply']);
      await w.pick('The column with the right value of category', 'category');
      await page.locator('.quick-input-widget input[placeholder^="category is right when it"]').waitFor();
      await w.shot('triage-metric');
      for (const row of await page.locator('.quick-input-list .monaco-list-row').all()) assert.notEqual((await row.locator('.label-description').innerText()).trim(), '');
      await w.pick('category is right when it', 'exact');
      await w.pick('The column with the right value of urgent', 'urgent');
      await w.pick('urgent is right when it', 'exact');
      await w.pick('The column with the right value of reply', 'named');
      await w.pick('reply is right when it', 'contains');
      await w.pick('The field that PROBLEM gets', 'mail');
      await w.pick('At most how many items?', 'All items');
      await page.locator('.quick-input-widget input[placeholder^="Anything else?"]').waitFor();
      await w.shot('triage-more');
      await w.pickSeveral('Anything else?', ['Scores that must be reached']);
      await w.pickSeveral('Which scores must be reached?', ['category']);
      await w.type('The least score that passes: category', '0.75');
      const report = await w.frame('.grid:has(.row[data-verdict="wrong"])');
      const title = report.locator('h1', { hasText: '0.667' });
      await title.waitFor();
      assert.equal(model.questions.length, paid, 'what the batch answered is paid for again');
      assert.deepEqual(await report.locator('.heads [role=columnheader]').allInnerTexts(), ['Item', 'PROBLEM', 'category', 'urgent', 'reply', 'Expected', 'Verdict', 'Cost', 'Time']);
      assert.equal(await report.locator('.space > .row').count(), 6);
      await w.command('View: Toggle Primary Side Bar Visibility');
      await w.shot('triage-result');
      // 4. What was taken for what, and the wrong ones.
      const fields = report.locator('.field');
      assert.equal(await fields.count(), 3);
      assert.match(await fields.nth(0).innerText(), /category 0\.833 .*exact.*passed: at least 0\.75/s);
      const table = fields.nth(0).locator('details');
      if (!(await table.evaluate(({ open }) => open))) await table.locator('summary').click();
      const counts = await fields.nth(0).locator('tbody tr').evaluateAll((lines) => lines.map((line) => [...line.children].map((cell) => cell.textContent)));
      assert.deepEqual(counts.find(([gold]) => gold === 'billing'), ['billing', '1', '', '', '1', '0.500']);
      for (const [theme, kind, name] of THEMES) {
        await w.again(async () => {
          await w.command('Preferences: Color Theme');
          await w.answer(theme);
          await report.locator(`xpath=//body[@data-vscode-theme-kind="${kind}"]`).waitFor({ timeout: SOON });
        }, `the theme does not become ${theme}`);
        await w.shot(`triage-result-${name}`);
      }
      await fields.nth(0).locator('button.count.wrong').click();
      const rows = report.locator('.space > .row');
      await w.until(async () => (await rows.count()) === 1, 'a cell of the table does not show its rows');
      await report.getByRole('button', { name: 'category: billing answered as other' }).click();
      await w.until(async () => (await rows.count()) === 6, 'the rows are not all there again');
      await report.locator('button[data-verdict="wrong"]').click();
      await w.until(async () => (await rows.count()) === 2, 'the rows are not filtered');
      await w.shot('triage-wrong');
      // 5. The run of one.
      await rows.filter({ hasText: 'charged twice' }).click();
      await report.locator('aside').waitFor();
      await w.shot('triage-row');
      await page.keyboard.press('Enter');
      const run = await w.frame('button[data-act="case"]');
      await run.locator('main', { hasText: 'other' }).waitFor();
      await w.shot('triage-run');
    });
  },
  { profile: 'endpoint', viewport: { width: 1600, height: 900 } },
);
