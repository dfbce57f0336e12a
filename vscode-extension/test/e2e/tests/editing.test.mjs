// What the language server gives, as a user meets it in the editor.
import { assert, describe, it } from '../support/harness.mjs';

const BROKEN = `flowchart TD
    PROBLEM([Problem]) -->|input| SOLVE["Custom<br/>(role: solver)"]
    PROBLEM -->|problm| CALC["Programmer<br/>"]
    SOLVE --> VOTE["ScEnsemble<br/>"]
    CALC --> VOTE --> RETURN([Return])
    class PROBLEM,RETURN Interface
    class SOLVE CustomOp
    class CALC ProgrammerOp
    class VOTE ScEnsembleOp
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    classDef ProgrammerOp fill:#f9c2c2
    classDef ScEnsembleOp fill:#f9e4b7
`;

describe('Editing', (workbench) => {
  it('a broken file: squiggle, row in Problems, hover, quick fix applied and saved', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('broken.mmd', BROKEN);
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await w.command('Problems: Focus on Problems View');
    const row = page.locator('.markers-panel .monaco-list-row', { hasText: 'problm' }).first();
    await row.waitFor();
    assert.match(await row.innerText(), /MW201/);
    await w.shot('problems');
    await row.dblclick();
    await page.locator('.monaco-editor.focused').first().waitFor();
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Control+I');
    const hover = page.locator('.monaco-hover:visible', { hasText: 'problm' }).first();
    await hover.waitFor();
    await w.shot('hover');
    await page.keyboard.press('Escape');
    await hover.waitFor({ state: 'hidden' });
    const action = page.locator('.action-widget .monaco-list-row', { hasText: 'Write |problem|' }).first();
    await w.until(async () => {
      await page.keyboard.press('Control+.');
      return action.waitFor({ timeout: 5000 }).then(() => true, () => false);
    }, 'no quick fix is offered');
    await w.shot('quick-fix');
    await action.click();
    await page.locator('.view-line', { hasText: '-->|problem| CALC' }).first().waitFor();
    await page.keyboard.press('Control+S');
    await w.saved('broken.mmd', (text) => text === BROKEN.replace('problm', 'problem'));
    await w.until(async () => (await page.locator('.monaco-editor .squiggly-error').count()) === 0, 'the squiggle stays');
  });

  it('completion inserts an operator', async () => {
    const w = workbench();
    const { page } = w;
    const text = 'flowchart TD\n    PROBLEM([Problem]):::Interface --> A["Custom"]:::CustomOp --> RETURN([Return]):::Interface\n    B[""]\n';
    await w.open('completion.mmd', text);
    await w.goTo(3, 8);
    await w.ready();
    const list = page.locator('.suggest-widget.visible .monaco-list-row', { hasText: 'ScEnsemble' }).first();
    await w.until(async () => {
      await page.keyboard.press('Control+Space');
      const came = await list.waitFor({ timeout: 3000 }).then(() => true, () => false);
      if (!came) await page.keyboard.press('Escape');
      return came;
    }, 'no completion offers ScEnsemble');
    await page.keyboard.type('ScEns');
    await list.waitFor();
    await w.shot('completion');
    await page.keyboard.press('Enter');
    await page.locator('.view-line', { hasText: 'ScEnsemble' }).first().waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+S');
    await w.saved('completion.mmd', (now) => /B\["ScEnsemble/.test(now));
  });
});
