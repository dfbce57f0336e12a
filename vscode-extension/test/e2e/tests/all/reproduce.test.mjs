// Reproducing a paper from the palette: the paper, how much, the data, other files, models, rows and a limit; the cost is agreed to; then
// the row in the tree of runs, and the table.
import { SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>';
const DATA = Array.from({ length: 5 }, (_, n) => `${JSON.stringify({ question: `How many are ${n} and 7?`, answer: String(n + 7), cot: 'Add them.', id: n })}\n`).join('');

describe(
  'Reproducing a paper',
  (workbench) => {
    it('asks what the command line takes, and ends with a row in the tree and the table', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      w.write('data/gsm8k_validate.jsonl', DATA);
      await w.again(async () => {
        await w.command('Preferences: Color Theme');
        await w.answer('Light Modern');
        await page.locator('.monaco-workbench.vs').waitFor({ timeout: SOON });
      }, 'the theme does not become light');
      await w.open('notes.txt', 'Open while the questions are asked.\n');
      await w.command('Merrow: Reproduce a Paper...');
      await w.pick('The paper', 'MermaidFlow');
      await w.pick('How much of it?', 'A look');
      await w.pick('The folder with the data', '/data');
      await page.locator('.quick-input-widget input[placeholder^="Files in this folder"]').waitFor();
      await w.shot('reproduce-other-data');
      await w.pick('Files in this folder', 'Use Them Anyway');
      await page.locator('.quick-input-widget input[placeholder^="The models"]').waitFor();
      await w.shot('reproduce-models');
      await w.pick('The models', 'Others...');
      await w.type('The model that answers the items (exec)', `tiny ${HOSTILE}`);
      const question = page.locator('.quick-input-widget', { hasText: 'The model that ' });
      const rows = page.locator('.quick-input-widget input[placeholder^="The rows"]');
      // The other roles that rows have keep the paper's models.
      await w.until(async () => {
        if (await rows.isVisible()) return true;
        if (await question.isVisible()) await page.keyboard.press('Enter');
        return false;
      }, 'the rows are not asked for');
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: 'round1-gsm8k' });
      await row.waitFor();
      await w.shot('reproduce-rows');
      assert.equal(model.questions.length, 0);
      await page.locator('.quick-input-widget').getByRole('button', { name: 'OK', exact: true }).click();
      await w.type('Stop once this many US dollars', '');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      await w.shot('reproduce-consent');
      assert.match(await dialog.innerText(), /Reproduce mermaidflow\?.*can be run by http:\/\/127.*In all about/s);
      assert.equal(model.questions.length, 0);
      await dialog.getByRole('button', { name: 'Reproduce', exact: true }).click();
      const table = await w.frame('h1:has-text("MermaidFlow")');
      await table.locator('td', { hasText: 'round1-gsm8k' }).first().waitFor();
      assert.match(await table.locator('tr', { hasText: 'round1-gsm8k' }).first().innerText(), /n = 3.*LOOK/s);
      assert.ok((await table.locator('body').innerText()).includes(`tiny ${HOSTILE}`));
      assert.equal(await table.locator('img').count(), 0);
      // The page has the colours of the workbench's theme, though the system prefers dark ones.
      assert.equal(await table.locator('body').evaluate((body) => getComputedStyle(body).colorScheme), 'light');
      assert.ok(model.questions.length >= 3);
      assert.deepEqual([...new Set(model.models)], [`tiny ${HOSTILE}`]);
      await w.shot('reproduce-table');
      const group = (await w.runs()).filter({ hasText: 'Reproductions' }).first();
      const shown = page.locator('.monaco-list-row', { hasText: 'mermaidflow: 1 row ended (look)' });
      await w.until(async () => {
        if ((await shown.count()) >= 1) return true;
        if ((await group.getAttribute('aria-expanded')) === 'false') await group.click();
        return false;
      }, 'the tree does not have the reproduction');
      await w.shot('reproduce-tree');
      await w.closeEditors();
      await w.again(async () => {
        await shown.first().click({ timeout: SOON });
        const again = await w.frame('h1:has-text("MermaidFlow")', SOON);
        await again.locator('td', { hasText: 'round1-gsm8k' }).first().waitFor({ timeout: SOON });
      }, 'the table is not opened from the tree');
    });
  },
  { profile: 'endpoint' },
);
