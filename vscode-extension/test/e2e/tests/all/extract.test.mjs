// Operators drawn from solved cases: the file, its fields and the stages are asked, then the cost; it can be stopped, and ends with a library.
import { assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const CASES = Array.from({ length: 10 }, (_, n) => `${JSON.stringify({ id: `q${n}`, question: `What is ${n + 3} plus ${n + 8}?`, worked: `Add the two numbers one after the other.`, answer: String(2 * n + 11) })}\n`).join('');

const STEPS = JSON.stringify({ steps: [{ name: 'Add', does: 'It adds the numbers of the problem.', reads: ['problem'], gives: 'Answer', prompt: 'Add all numbers that you are given and answer with the sum alone.', built_in: null }] });

describe('Extracting operators', (workbench) => {
  it('asks for the file, its fields and the stages, says the cost first, and can be stopped', async () => {
    const w = workbench();
    const { page } = w;
    const model = await endpoint();
    model.answerWith(() => STEPS);
    let asked = 0;
    model.hold(() => (asked += 1) > 3);
    await w.open('solved.jsonl', CASES);
    await w.command('Merrow: Extract Operators from Solved Cases...');
    for (const [question, choice] of [
      ['The solved cases', 'solved.jsonl'],
      ['The field with the problem', 'question'],
      ['The field with the worked solution', 'worked'],
      ['The field with the right answer', 'answer'],
      ['An answer is right when', 'numeric'],
    ]) await w.pick(question, choice);
    await page.locator('.quick-input-widget input[placeholder^="The stages"]').waitFor();
    // Enter takes what is chosen, and that is nothing before the list has its rows.
    await page.locator('.quick-input-list .monaco-list-row[aria-checked="true"]').first().waitFor();
    await w.shot('extract-stages');
    await page.keyboard.press('Enter');
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.waitFor();
    await w.shot('extract-consent');
    assert.match(await dialog.innerText(), /Extract operators from solved\.jsonl\?.*10 cases.*Stage 1, initial.*Stage 5.*http:\/\/127/s);
    assert.equal(asked, 0);
    await dialog.getByRole('button', { name: 'Extract', exact: true }).click();
    const progress = page.locator('.notification-toast', { hasText: 'Extracting operators from solved.jsonl' });
    await progress.waitFor();
    await w.until(() => asked > 3, 'the model is not asked');
    await w.shot('extract-going-on');
    await progress.getByRole('button', { name: 'Cancel' }).click();
    await progress.waitFor({ state: 'hidden' });
    await w.notification('The extraction from solved.jsonl was stopped; finished work is kept');
    const group = (await w.runs()).filter({ hasText: 'Extractions' }).first();
    const shown = page.locator('.monaco-list-row', { hasText: 'solved.jsonl: no operators yet' });
    await w.until(async () => {
      if ((await shown.count()) >= 1) return true;
      if ((await group.getAttribute('aria-expanded')) === 'false') await group.click();
      return false;
    }, 'the tree does not have the extraction');
    for (const theme of ['Dark Modern', 'Light Modern']) {
      await w.command('Preferences: Color Theme');
      await w.answer(theme);
      await w.shot(`extract-tree-${theme.split(' ')[0].toLowerCase()}`);
    }
    const before = model.questions.length;
    // A second click would be for a job that goes on already.
    await w.until(async () => {
      await shown.first().hover();
      return shown.first().getByRole('button', { name: 'Continue' }).click({ timeout: 2000 }).then(() => true, () => false);
    }, 'there is no button to continue');
    await progress.waitFor();
    await w.until(() => model.questions.length > before, 'the model is not asked again');
    await progress.getByRole('button', { name: 'Cancel' }).click();
    await progress.waitFor({ state: 'hidden' });
    model.answerWith(undefined);
  });
}, { profile: 'endpoint' });
