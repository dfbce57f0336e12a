// The preview: draws the diagram, follows both ways, keeps the last good picture, shows findings and runs.
import { Preview, assert, describe, it } from '../support/harness.mjs';

const FLOW = `flowchart TD
    PROBLEM([Problem])
    SOLVE["Custom<br/>(role: simple_solver_1)"]
    CODE["Programmer<br/>(analysis: 'Calculate step by step')"]
    ENSEMBLE["ScEnsemble<br/>"]
    RETURN([Return response & cost])
    PROBLEM -->|input| SOLVE --> ENSEMBLE
    PROBLEM -->|problem| CODE --> ENSEMBLE
    ENSEMBLE --> RETURN
    class PROBLEM,RETURN Interface
    class SOLVE CustomOp
    class CODE ProgrammerOp
    class ENSEMBLE ScEnsembleOp
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef ProgrammerOp fill:#f9c2c2,stroke:#c23737
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37
`;
const NODES = ['PROBLEM', 'SOLVE', 'CODE', 'ENSEMBLE', 'RETURN'];
const PLAIN = 'flowchart LR\n    A[One] --> B[Two]\n    B --> C[Three]\n';

describe('Preview', (workbench) => {
  it('draws the flowchart and follows both ways', async () => {
    const w = workbench();
    await w.open('flow.mmd', FLOW);
    const preview = await Preview.open(w);
    await preview.shows(...NODES);
    await w.goTo(4, 6);
    await preview.frame.locator('g.node[data-node="CODE"] > .marks > .here').waitFor();
    await w.goTo(9, 15);
    await preview.frame.locator('.edge-here').waitFor({ state: 'attached' });
    await w.goTo(9, 5);
    await preview.frame.locator('g.node[data-node="ENSEMBLE"] > .marks > .here').waitFor();
    await preview.node('SOLVE').click();
    await preview.frame.locator('g.node[data-node="SOLVE"] > .marks > .here').waitFor();
    await w.page.mouse.move(1040, 720);
    await preview.frame.locator('.tooltip').waitFor({ state: 'hidden' });
    await w.shot('preview');
    await w.until(async () => (await w.cursor()).startsWith('Ln 3, Col 10 (5 selected)'), 'the click does not go to the text');
  });

  it('shows whose results a step remembers', async () => {
    const w = workbench();
    await w.open('memory.mmd', FLOW.replace('role: simple_solver_1)', 'role: simple_solver_1, memory: all)').replace('ScEnsemble<br/>"', 'ScEnsemble<br/>(memory: all)"'));
    const preview = await Preview.open(w);
    await preview.frame.locator('.memories').waitFor({ state: 'detached' });
    await preview.frame.getByRole('button', { name: /^Memory: / }).click();
    await preview.frame.locator('.memories path.memory[data-from="PROBLEM"][data-to="ENSEMBLE"]').waitFor({ state: 'attached' });
    assert.equal(await preview.frame.locator('.memories path.memory').count(), 1);
    await w.shot('preview-memory');
    await preview.frame.getByRole('button', { name: /^Memory: / }).click();
    await preview.frame.locator('.memories').waitFor({ state: 'detached' });
  });

  it('shows findings on nodes and edges, with a tooltip', async () => {
    const w = workbench();
    const broken = FLOW.replace('    PROBLEM -->|problem| CODE --> ENSEMBLE\n', '').replace('-->|input| SOLVE', '-->|nonesuch| SOLVE');
    await w.open('findings.mmd', broken);
    const preview = await Preview.open(w);
    await preview.frame.locator('g.node[data-node="ENSEMBLE"] > .marks > .mark.error').waitFor();
    await preview.frame.locator('.mark.error[data-about="L_PROBLEM_SOLVE_0"]').waitFor();
    await preview.node('ENSEMBLE').hover();
    await preview.frame.locator('.tooltip:visible', { hasText: 'MW105' }).waitFor();
    await w.shot('preview-findings');
  });

  it('keeps the last good picture while the text is broken, and says so', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('last.mmd', PLAIN);
    const preview = await Preview.open(w);
    await preview.shows('A', 'B', 'C');
    await w.goTo(3, 25);
    await page.keyboard.press('End');
    await page.keyboard.type(' --> D[');
    await w.until(async () => /^Line 3: .*last picture/s.test(await preview.notice().innerText()), 'the preview does not say where the text is broken');
    await preview.shows('A', 'B', 'C');
    await w.shot('preview-stale');
    await page.keyboard.type('Four]');
    await preview.shows('A', 'B', 'C', 'D');
    await preview.notice().waitFor({ state: 'hidden' });
  });

  it('shows the states of a run with signs, words and a legend', async () => {
    const w = workbench();
    await w.open('run.mmd', FLOW);
    const preview = await Preview.open(w);
    await preview.shows(...NODES);
    await preview.frame.evaluate(() => {
      const states = [
        ['PROBLEM', { state: 'finished' }],
        ['SOLVE', { state: 'finished', detail: '1.2 s · 240 tokens · $0.0003' }],
        ['CODE', { state: 'running', detail: '3 s' }],
        ['ENSEMBLE', { state: 'waiting' }],
        ['RETURN', { state: 'skipped' }],
      ];
      window.postMessage({ type: 'run', states, boxes: [], revision: null, isOver: false }, '*');
    });
    await preview.frame.locator('g.node[data-node="CODE"] > .marks > .state.running').waitFor();
    assert.match(await preview.frame.locator('.legend').innerText(), /1 waiting\s+1 running\s+2 finished\s+1 skipped/);
    assert.match(await preview.node('SOLVE').getAttribute('aria-label'), /finished 1\.2 s/);
    await w.shot('preview-run');
    await preview.frame.evaluate(() => {
      const states = [['SOLVE', { state: 'failed', detail: 'The endpoint refused the key.' }]];
      window.postMessage({ type: 'run', states, boxes: [], revision: null, isOver: false }, '*');
    });
    await preview.frame.locator('g.node[data-node="SOLVE"] > .marks > .state.failed').waitFor();
    assert.equal(await preview.frame.locator('.state').count(), 1);
  });
}, { shared: true });
