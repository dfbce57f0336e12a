// A step becomes an operator of its own, or one of a library takes its place: by the lightbulb, with one undo.
import { SOON, assert, describe, it } from '../../support/harness.mjs';

const FLOW = `---
workflow:
  libraries: [./operators.yaml]
  prompts:
    solver: |
      Solve the problem.
      Show each step.
    planner: Make a plan.
---
flowchart TD
    PROBLEM([Problem])
    PLAN["Custom<br/>(role: planner, returns: Plan)"]:::CustomOp
    SOLVE["Custom<br/>(role: solver)"]:::CustomOp
    RETURN([Return])
    class PROBLEM,RETURN Interface
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    PROBLEM -->|input| PLAN
    PROBLEM --> SOLVE
    PLAN --> SOLVE
    SOLVE --> RETURN
`;
const LIBRARY = `operators:
  Carry:
    inputs: {plan?: Plan, problem: Problem}
    outputs: {text: Text}
    prompt: Carry out the plan.
`;

describe('Operators of steps', (workbench) => {
  it('are made of a step, or taken from a library, by the lightbulb', async () => {
    const w = workbench();
    const { page } = w;
    w.write('operators.yaml', LIBRARY);
    await w.open('steps.mmd', FLOW);
    await w.lens();
    const actions = page.locator('.action-widget .monaco-list-row.action');
    const choose = async (title, picture, line) => {
      const action = actions.filter({ hasText: title }).first();
      await w.again(async () => {
        await w.goTo(13, 6);
        await page.keyboard.press('Control+.');
        await action.waitFor({ timeout: SOON });
      }, `the menu does not have “${title}”`);
      await w.shot(picture);
      await action.click();
      await page.locator('.view-line', { hasText: line }).first().waitFor();
      await w.shot(`${picture}-done`);
    };
    await choose('Name this step as an operator', 'step-operator', 'SOLVE["Solver<br/>"]');
    await w.save('steps.mmd', (text) => /operators:\n {4}Solver:\n/.test(text) && !text.includes('    solver: |'));
    assert.equal(await page.locator('.monaco-editor .squiggly-error').count(), 0);
    await w.undo('steps.mmd', FLOW);
    await choose('Use operator Carry of the library here', 'library-operator', 'SOLVE["Carry<br/>"]');
    await w.save('steps.mmd', (text) => /PLAN -->\|plan\| SOLVE/.test(text) && !text.includes('solver'));
    assert.equal(await page.locator('.monaco-editor .squiggly-error').count(), 0);
    await w.undo('steps.mmd', FLOW);
    w.remove('operators.yaml');
  });
}, { shared: true });
