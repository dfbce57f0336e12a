// Running a workflow with the embedded model: inputs, nodes lighting up, the panel of a node, the result, the tree of runs.
import { PATIENCE, Preview, SOON, assert, describe, it } from '../support/harness.mjs';

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
  it('asks for inputs, lights the nodes up, shows the result in the panel; a node tells what it was asked', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('solve.mmd', FLOW);
    // A click is lost while the lenses are put in again.
    await w.again(async () => {
      await (await w.lens('Run')).click({ timeout: SOON });
      await page.locator('.quick-input-widget', { hasText: 'PROBLEM (Problem): Problem' }).waitFor({ timeout: SOON });
    }, 'the code lens asks for no input');
    await w.shot('run-input');
    // The status bar says it for twenty seconds only, so it is watched from the beginning.
    const counted = page.locator('.statusbar-item', { hasText: 'Merrow 5/5' }).waitFor({ timeout: 2 * PATIENCE });
    counted.catch(() => undefined);
    // No calculation, so that the two answers differ and there is something to vote on.
    await w.answer('Why is the sky blue?');
    const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
    await preview.shows(...NODES);
    for (const node of NODES) await preview.node(node).locator('.marks > .state.finished').waitFor();
    const ended = await w.runEnded('solve.mmd');
    await ended.locator('details[data-key="output RETURN"] .rendered').waitFor();
    assert.match(await ended.locator('header .badge').innerText(), /embedded model \(offline\)/);
    // Nothing opens over the workflow.
    assert.equal(await page.locator('.tab', { hasText: 'result' }).count(), 0);
    await page.locator('.tab', { hasText: 'solve.mmd' }).first().waitFor();
    await page.locator('.statusbar-item', { hasText: 'embedded model' }).waitFor();
    await counted;
    await w.shot('run-finished');

    await preview.click('VOTE');
    const panel = await w.frame('main header h1');
    await panel.locator('h1', { hasText: 'VOTE' }).waitFor();
    await panel.locator('summary', { hasText: 'vote' }).first().waitFor();
    const about = panel.locator('header .about');
    assert.match(await about.innerText(), /embedded model \(offline\)/);
    assert.equal(await panel.locator('text=by the endpoint').count(), 0);
    await panel.locator('summary', { hasText: 'from SOLVE' }).waitFor();
    await w.shot('run-node');

    // A person sets what a node gave: only what follows runs again, and the node says whose its output is.
    // A click on a panel that is drawn again at that moment is lost.
    await w.again(async () => {
      await panel.locator('button', { hasText: 'Set Output' }).click({ timeout: SOON });
      await page.locator('.quick-input-widget', { hasText: 'Set the Output of VOTE' }).waitFor({ timeout: SOON });
    }, 'the panel does not ask for an output');
    await w.shot('run-set-output');
    await w.answer('Forty-two, says the teacher.');
    await preview.node('VOTE').locator('.marks', { hasText: 'set by a person' }).waitFor();
    await w.until(async () => /a person/.test(await about.innerText()), 'the panel does not say who set the output');
    await panel.locator('details .rendered', { hasText: 'says the teacher' }).first().waitFor();
    await w.shot('run-set-by-person');

    // The panel follows: the same node of the next run, and another file's run in its place.
    const first = /run (\S+)/.exec(await about.innerText())[1];
    await page.keyboard.press('Control+1');
    await w.open('solve.mmd');
    await w.commandAnswered('Merrow: Run Workflow with Other Inputs', 'Run solve.mmd', 'What is 7 times 8?');
    await w.until(async () => /VOTE/.test(await panel.locator('main').innerText()) && !(await panel.locator('main').innerText()).includes(first), 'the panel still shows the first run');
    await w.runEnded('VOTE', first);
    await page.keyboard.press('Control+1');
    await w.open('other.mmd', FLOW.replaceAll('VOTE', 'ENSEMBLE'));
    await panel.locator('.earlier', { hasText: 'Earlier run of solve.mmd' }).waitFor();
    await w.shot('run-earlier');
    await w.commandAnswered('Merrow: Run Workflow', 'Run other.mmd', 'What is 8 times 9?');
    await panel.locator('h1', { hasText: 'other.mmd' }).waitFor();
    await panel.locator('.earlier').waitFor({ state: 'detached' });
    await panel.locator('summary', { hasText: 'RETURN' }).waitFor();
    await w.runEnded('other.mmd');
    await w.shot('run-whole');
    await page.keyboard.press('Control+1');
    await w.open('solve.mmd');
    await panel.locator('h1', { hasText: 'VOTE' }).waitFor();
    await panel.locator('.earlier').waitFor({ state: 'detached' });

    // All of the run, and from there its nodes; another run of the tree is shown in the panel too.
    await panel.locator('button', { hasText: 'Show Whole Run' }).click();
    await panel.locator('h1', { hasText: 'solve.mmd' }).waitFor();
    await panel.locator('details[data-key="nodes"] > summary').click();
    await panel.locator('.nodes button', { hasText: 'COMPUTE' }).click();
    await panel.locator('h1', { hasText: 'COMPUTE' }).waitFor();
    const rows = await w.runs();
    // The other file's; the last rows may be cut off. A click on a tree that is drawn again at that moment is lost.
    await w.again(async () => {
      await rows.filter({ hasText: /now|ago/ }).first().click({ timeout: SOON });
      await panel.locator('.earlier').waitFor({ timeout: SOON });
    }, 'the panel does not show the run that is chosen in the tree');
    assert.equal(await page.locator('.tab', { hasText: 'result' }).count(), 0);
  });
}, { shared: true });
