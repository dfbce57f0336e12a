// What the language server gives, as a user meets it in the editor.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { assert, describe, it } from '../support/harness.mjs';
import { repository } from '../support/places.mjs';
import { testAll } from '../support/sizes.mjs';

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

const PLAN = `flowchart TD
    PROBLEM([Problem])
    PLAN["Custom<br/>(role: planner)"]
    PY["Programmer<br/>(role: calculator)"]
    RETURN([Return])
    PROBLEM -->|input| PLAN
    PROBLEM -->|problem| PY
    PLAN -->|analysis| PY
    PY --> RETURN
    class PROBLEM,RETURN Interface
    class PLAN CustomOp
    class PY ProgrammerOp
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
    classDef ProgrammerOp fill:#f9c2c2
`;
const THREE_DEFECTS = PLAN.replace('|analysis|', '|analyse|').replace('class PY ProgrammerOp', 'class PY ProgramerOp').replace('    PY --> RETURN\n', '');
const UNQUOTED = 'flowchart TD\n    A[Check (twice)] --> B\n';
const QUOTED = UNQUOTED.replace('Check (twice)', '"Check (twice)"');
const CORPUS = path.join(repository, '..', 'shared', 'corpus', 'mmd');
/** The corpus' files with one defect each: where it is found, and what Enter does in the menu there. */
const DEFECTS = JSON.parse(readFileSync(path.join(repository, 'tests', 'e2e', 'seeded_defects.json'), 'utf8'));
const SHOTS = new Set(['d03_unreachable_node.mmd', 'd15_type_mismatch.mmd', 'd18_missing_prompt.mmd']);

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
    await w.save('broken.mmd', (text) => text === BROKEN.replace('problm', 'problem'));
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
    await w.save('completion.mmd', (now) => /B\["ScEnsemble/.test(now));
  });

  it('Ctrl+. Enter repairs each kind of defect', { skip: existsSync(CORPUS) ? false : 'The corpus is not beside the repository.' }, async () => {
    const w = workbench();
    const { page } = w;
    // In `make test` one in seven.
    // Only where some prompts are given is one missing.
    w.write('defects/d18/prompt.py', 'WITH_PROMPT = "Work step by step."\n');
    const marks = page.locator('.editor-group-container.active').locator('.squiggly-error, .squiggly-warning');
    for (const { file, line, column, title } of DEFECTS.filter((_, number) => testAll || number % 7 === 0)) {
      const name = `defects/${file.slice(0, 3)}/${file}`;
      const before = readFileSync(path.join(CORPUS, file), 'utf8');
      await w.open(name, before);
      await w.goTo(line, column);
      await marks.first().waitFor();
      const first = page.locator('.action-widget .monaco-list-row.action.focused');
      await w.until(async () => {
        await page.keyboard.press('Control+.');
        return first.waitFor({ timeout: 5000 }).then(() => true, () => false);
      }, `${file}: no quick fix is offered`);
      assert.equal((await first.innerText()).replaceAll('\u00a0', ' ').trim(), title, file);
      const fixes = (await page.locator('.action-widget .monaco-list-row.action').allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' ').trim());
      const repairs = fixes.indexOf('Repair this workflow');
      assert.ok(fixes.findIndex((text) => text.startsWith('Ignore ')) > repairs, `${file}: ${fixes.join(' | ')}`);
      if (SHOTS.has(file)) await w.shot(`menu-${file.slice(0, 3)}`);
      await page.keyboard.press('Enter');
      await w.until(async () => (await marks.count()) === 0, `${file}: the finding stays`);
      if (SHOTS.has(file)) await w.shot(`repaired-${file.slice(0, 3)}`);
      await w.save(name, (text) => text !== before);
    }
    w.remove('defects');
  });

  it('a workflow with three defects is repaired as a whole, and one undo takes that back', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('repair.mmd', THREE_DEFECTS);
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await w.command('Merrow: Repair This Workflow');
    const frame = await w.frame('.panes .picture:not(.building) svg');
    await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
    await w.shot('repair');
    assert.equal(w.read('repair.mmd'), THREE_DEFECTS);
    await frame.getByRole('button', { name: 'Apply' }).click();
    await page.locator('.tab', { hasText: '↔' }).waitFor({ state: 'detached' });
    await w.save('repair.mmd', (text) => ['|analysis| PY', 'class PY ProgrammerOp', 'PY --> RETURN'].every((words) => text.includes(words)));
    await w.undo('repair.mmd', THREE_DEFECTS);
    w.remove('repair.mmd');
  });

  it('all that is safe to fix is fixed: all of a rule from the menu, on save, in the workspace', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('all.mmd', `${UNQUOTED}    C[Check (thrice)] --> B\n`);
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await w.goTo(2, 13);
    const everywhere = page.locator('.action-widget .monaco-list-row', { hasText: /Fix all: MW006 .* in this file/ }).first();
    await w.until(async () => {
      await page.keyboard.press('Control+.');
      return everywhere.waitFor({ timeout: 5000 }).then(() => true, () => false);
    }, 'the menu does not have all of the rule');
    await w.shot('fix-all');
    await everywhere.click();
    await w.until(async () => (await page.locator('.monaco-editor .squiggly-error').count()) === 0, 'the squiggles stay');

    w.write('.vscode/settings.json', JSON.stringify({ 'editor.codeActionsOnSave': { 'source.fixAll.merrow': 'explicit' } }));
    await w.open('on-save.mmd', UNQUOTED);
    await w.until(async () => {
      await page.keyboard.press('Control+S');
      return w.read('on-save.mmd') === QUOTED;
    }, 'nothing is fixed on save');
    w.remove('.vscode');

    w.write('some/closed.mmd', UNQUOTED);
    await w.open('some/open.mmd', UNQUOTED);
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await w.command('Merrow: Fix All Safe Problems in Workspace');
    await w.notification(/problems fixed in \d+ files\. One undo takes all of it back\./);
    await page.locator('.view-line', { hasText: '"Check (twice)"' }).first().waitFor();
    await page.locator('.tab.dirty', { hasText: 'closed.mmd' }).waitFor();
    await w.shot('fix-workspace');
    await w.goTo(1);
    await page.keyboard.press('Control+Z');
    await page.locator('.view-line', { hasText: 'A[Check (twice)]' }).first().waitFor();
    await page.locator('.tab.dirty', { hasText: 'closed.mmd' }).waitFor({ state: 'detached' });
    assert.equal(w.read('some/closed.mmd'), UNQUOTED);
    for (const name of ['all.mmd', 'on-save.mmd', 'some']) w.remove(name);
  });
}, { shared: true });
