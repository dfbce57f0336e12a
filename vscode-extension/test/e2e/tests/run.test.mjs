// Running a workflow with the embedded model: inputs, nodes lighting up, the panel of a node, the result, the tree of runs.
import { Preview, assert, describe, it } from '../support/harness.mjs';

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
const NODES = ['PROBLEM', 'SOLVE', 'COMPUTE', 'VOTE', 'RETURN'];

describe('Run', (workbench) => {
  it('asks for inputs, lights the nodes up, opens the result; a node tells what it was asked', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('solve.mmd', FLOW);
    const lens = page.locator('.codelens-decoration a', { hasText: 'Run' }).first();
    await lens.waitFor();
    await lens.click();
    await page.locator('.quick-input-widget', { hasText: 'PROBLEM (Problem): Problem' }).waitFor();
    await w.shot('run-input');
    await w.answer('What is 6 times 7?');
    const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
    await preview.shows(...NODES);
    for (const node of NODES) await preview.node(node).locator('.marks > .state.finished').waitFor();
    await page.locator('.tab.active', { hasText: 'solve result' }).waitFor();
    assert.match(await w.text(), /# solve\.mmd: result/);
    await page.locator('.statusbar-item', { hasText: 'Merrow 5/5' }).waitFor();
    await w.shot('run-finished');

    await preview.node('VOTE').click();
    const panel = await w.frame('main header h1');
    await panel.locator('h1', { hasText: 'VOTE' }).waitFor();
    await panel.locator('summary', { hasText: 'vote' }).first().waitFor();
    await w.shot('run-node');
  });
});
