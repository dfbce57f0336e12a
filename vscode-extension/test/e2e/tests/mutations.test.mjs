// Safe mutations: chosen from a list, looked at as a difference and in pictures, applied, undone.
import { SOON, assert, describe, it } from '../support/harness.mjs';

const FLOW = `flowchart TD
    PROBLEM([Problem])
    SOLVE["Custom<br/>(role: simple_solver_1)"]
    AGAIN["Custom<br/>(role: simple_solver_2)"]
    ENSEMBLE["ScEnsemble<br/>"]
    RETURN([Return response & cost])
    PROBLEM -->|input| SOLVE --> ENSEMBLE
    PROBLEM -->|input| AGAIN --> ENSEMBLE
    ENSEMBLE --> RETURN
    class PROBLEM,RETURN Interface
    class SOLVE,AGAIN CustomOp
    class ENSEMBLE ScEnsembleOp
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37
`;
const PAGE = '.panes .picture:not(.building) svg';

/** Choose the first mutation that inserts something: the page with its pictures, and its title, which is that of the row. */
async function looked(w) {
  const rows = w.page.locator('.quick-input-list .monaco-list-row');
  await w.still(rows);
  const row = rows.filter({ has: w.page.locator('.label-name', { hasText: /^Insert / }) }).first();
  const title = await row.locator('.label-name').first().innerText();
  await row.click();
  const frame = await w.frame(PAGE);
  assert.equal(await frame.locator('h1').innerText(), title);
  return { frame, title };
}

describe('Safe mutations', (workbench) => {
  it('are looked at before one is applied, which can be undone', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('mutate.mmd', FLOW);
    await w.lens();
    await w.commandAnswered('Merrow: Safe Mutations', 'Insert ');
    await w.shot('mutations-list');
    const { frame, title } = await looked(w);
    await w.until(async () => (await frame.locator(PAGE).count()) === 2, 'there are no two pictures');
    await frame.locator('.pane:last-child .touched.added').first().waitFor();
    assert.equal(await frame.locator('.pane:first-child .touched').count(), 0);
    await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
    await w.command('View: Toggle Primary Side Bar Visibility');
    // Nothing is hovered over.
    await page.mouse.move(20, 600);
    await page.locator('.monaco-hover:visible').waitFor({ state: 'hidden' });
    await w.shot('mutation');
    await w.command('View: Toggle Primary Side Bar Visibility');
    assert.equal(w.read('mutate.mmd'), FLOW);
    await frame.getByRole('button', { name: 'Next' }).click();
    await frame.locator('h1').filter({ hasNotText: title }).waitFor();
    await frame.getByRole('button', { name: 'Previous' }).click();
    await frame.locator('h1', { hasText: title }).waitFor();
    await frame.getByRole('button', { name: 'Apply' }).click();
    await page.locator('.tab', { hasText: '↔' }).waitFor({ state: 'detached' });
    await w.save('mutate.mmd', (text) => text !== FLOW && text.length > FLOW.length);
    await w.undo('mutate.mmd', FLOW);
  });

  it('are behind the code action too, for what is selected', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('mutate.mmd', FLOW);
    await w.lens();
    await w.goTo(5, 6);
    const action = page.locator('.action-widget .monaco-list-row', { hasText: 'More safe mutations' }).first();
    const rows = page.locator('.quick-input-list .monaco-list-row');
    // A click on a menu that is drawn again at that moment is lost.
    await w.again(async () => {
      await page.keyboard.press('Control+.');
      await action.click({ timeout: 5000 });
      await rows.filter({ hasText: 'ENSEMBLE' }).first().waitFor({ timeout: SOON });
    }, 'no code action leads to more');
    assert.equal(await rows.filter({ hasText: 'Replace Custom SOLVE' }).count(), 0);
    await page.keyboard.press('Escape');
  });

  it('nothing is applied where nothing is chosen', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('mutate.mmd', FLOW);
    await w.commandAnswered('Merrow: Safe Mutations', 'Insert ');
    const { frame } = await looked(w);
    await frame.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.tab', { hasText: '↔' }).waitFor({ state: 'detached' });
    assert.equal(w.read('mutate.mmd'), FLOW);
    await page.locator('.tab.active', { hasText: 'mutate.mmd' }).waitFor();
  });

  it('are searched by what they change, patterns first', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('mutate.mmd', FLOW);
    await w.lens();
    await w.commandAnswered('Merrow: Safe Mutations', 'Insert ');
    const rows = page.locator('.quick-input-list .monaco-list-row');
    await rows.first().waitFor();
    assert.match(await rows.first().innerText(), /Patterns|repeat|around|vote|check|Let |advis|review/i);
    await w.quickInput().fill('1 call more');
    await w.until(async () => {
      const texts = (await rows.allInnerTexts()).filter((text) => !text.includes('Show more'));
      return texts.length > 0 && texts.every((text) => ['1', 'call', 'more'].every((word) => text.includes(word)));
    }, 'the list does not have what was searched for alone');
    await w.shot('mutations-search');
    await page.keyboard.press('Escape');
  });

  it('a mutant is run beside the file, and both are compared', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('mutate.mmd', FLOW);
    await w.lens();
    await w.commandAnswered('Merrow: Safe Mutations', 'Insert ');
    const { frame, title } = await looked(w);
    const question = page.locator('.quick-input-widget', { hasText: 'PROBLEM (' });
    await w.again(async () => {
      await frame.getByRole('button', { name: 'Run Both and Compare' }).click({ timeout: SOON });
      await question.waitFor({ timeout: SOON });
    }, 'nobody is asked for the input of both');
    await w.answer('How many legs has a spider?');
    const shown = await w.frame('table');
    await shown.locator('td', { hasText: 'calls' }).waitFor();
    await w.shot('mutation-compared');
    const text = await shown.locator('body').innerText();
    assert.ok(text.includes(`Now, and after: ${title}`), text);
    for (const word of ['status', 'calls', 'cost', 'time', 'finished']) assert.ok(text.includes(word), word);
    assert.equal(w.read('mutate.mmd'), FLOW);
  });
}, { shared: true });
