// An input that comes into the file while others are asked for.
import { assert, describe, it } from '../../support/harness.mjs';

const FLOW = `---
title: Solve a word problem
workflow:
  prompts:
    solver: |
      Solve the problem step by step.
---
flowchart TD
    PROBLEM([Problem])
    SOLVE["Custom<br/>(role: solver)"]
    COMPUTE["Programmer<br/>(analysis: 'Calculate step by step')"]
    VOTE["ScEnsemble<br/>"]
    RETURN([Return the answer])
    PROBLEM -->|input| SOLVE
    PROBLEM -->|problem| COMPUTE
    SOLVE --> VOTE
    COMPUTE --> VOTE
    VOTE --> RETURN
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px;
    classDef ProgrammerOp fill:#f9c2c2,stroke:#c23737,stroke-width:2px;
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37,stroke-width:2px;
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px;
    class SOLVE CustomOp
    class COMPUTE ProgrammerOp
    class VOTE ScEnsembleOp
    class PROBLEM,RETURN Interface
`;

describe('Inputs that are asked for', (workbench) => {
  it('asks for an input that came while others were asked for; who leaves the question runs nothing', async () => {
    const w = workbench();
    const { page } = w;
    const one = FLOW.replaceAll('VOTE', 'CHOICE');
    const two = one.replace('    PROBLEM -->|input| SOLVE', '    DETAIL([Detail]):::Interface -->|input| SOLVE');
    assert.notEqual(one, two);
    const asked = (name) => page.locator('.quick-input-widget', { hasText: `${name} (` });
    const runs = await w.runs();
    const own = runs.filter({ hasText: 'later.mmd' });
    for (const leave of [true, false]) {
      await w.open('later.mmd', one);
      await w.lens('Run');
      await w.until(async () => !(await w.text()).includes('DETAIL'), 'the editor does not have the text of the file');
      await w.commandAnswered('Merrow: Run Workflow with Other Inputs', 'PROBLEM (');
      w.write('later.mmd', two);
      await w.until(async () => (await w.text()).includes('DETAIL'), 'the editor does not have the new text');
      await w.answer('What is 6 times 7?');
      await asked('DETAIL').waitFor();
      if (!leave) {
        await w.shot('run-input-later');
        await w.answer('In base thirteen');
        await w.runEnded('later.mmd');
        await own.waitFor();
        continue;
      }
      await page.keyboard.press('Escape');
      await w.until(() => w.server.log().includes('No value was given for the input DETAIL'), 'the log does not say why nothing is run');
      assert.equal(await w.toasts().count(), 0);
      assert.equal(await own.count(), 0);
      await w.closeEditors();
    }
  });
}, { shared: true });
