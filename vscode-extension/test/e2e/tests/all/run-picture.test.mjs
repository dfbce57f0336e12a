// The picture of a run: equal steps drawn as one, what the run took, the step that it is at, in each kind of theme; and what a change touches.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';
import { repository } from '../../support/places.mjs';

const LETTERS = readFileSync(path.join(repository, 'examples', 'letters.mmd'), 'utf8');
const THEMES = [
  ['Dark High Contrast', 'vscode-high-contrast', 'high-contrast'],
  ['Light Modern', 'vscode-light', 'light'],
  ['Dark Modern', 'vscode-dark', 'dark'],
];
const many = (size) => `---
workflow:
  prompts:
    solve: Solve the problem.
---
flowchart TD
    PROBLEM([Problem]):::Interface
${Array.from({ length: size }, (_, number) => `    S${number}["Custom<br/>(role: solve)"]`).join('\n')}
    VOTE["ScEnsemble<br/>"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| ${Array.from({ length: size }, (_, number) => `S${number}`).join(' & ')} --> VOTE
    VOTE --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const NESTED = `---
workflow:
  prompts:
    polish: Make this line better.
    judge: Is this line good enough?
    repair: Make the best of it.
---
flowchart TD
    PROBLEM([Line]):::Interface
    subgraph ROUNDS["Loop (max: 2)"]
        subgraph TURNS["Loop (max: 2)"]
            POLISH["Custom<br/>(role: polish)"]
        end
        JUDGE["Custom<br/>(role: judge, returns: Bool)"]
        GOOD{Good enough?}
    end
    REPAIR["Custom<br/>(role: repair)"]
    RETURN([Better line]):::Interface
    PROBLEM -->|input| POLISH
    POLISH -.->|again:input| POLISH
    POLISH -->|input| JUDGE
    JUDGE -->|when| GOOD
    POLISH -->|value| GOOD
    GOOD -->|no:again:input| POLISH
    GOOD -->|yes| RETURN
    GOOD -->|no:over:input| REPAIR
    REPAIR --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const WIDE = `---
workflow:
  inputs: [PROBLEM]
---
flowchart LR
    PROBLEM([Problem]) --> N0
${Array.from({ length: 30 }, (_, number) => `    N${number}["Custom<br/>(role: step_${'abcdefghijklmnopqrstuvwxyzABCDE'[number]})"] --> ${number === 29 ? 'RETURN' : `N${number + 1}`}\n`).join('')}    RETURN([Answer])
`;

/** Whether all of an element is inside of the viewport. */
async function inSight(preview, id) {
  const [node, port] = [await preview.node(id).boundingBox(), await preview.frame.locator('.viewport').boundingBox()];
  return node !== null && node.x >= port.x - 1 && node.y >= port.y - 1 && node.x + node.width <= port.x + port.width + 1 && node.y + node.height <= port.y + port.height + 1;
}

/** The height of the smallest words in the picture, in pixels on the screen. */
const smallest = (preview) =>
  preview.frame.locator('.picture:not(.building)').evaluate((root) => {
    const scale = Number(/scale\(([\d.]+)\)/.exec(root.parentElement.style.transform)[1]);
    return Math.min(...[...root.querySelectorAll('.nodeLabel *, .nodeLabel, .edgeLabel *, text.detail, text.badge')].filter((one) => one.textContent.trim() !== '').map((one) => Number.parseFloat(getComputedStyle(one).fontSize) * scale));
  });

/** Start a run that an endpoint answers, and find its preview. */
async function started(w, file, input) {
  await w.lens('Run');
  await w.commandAnswered('Merrow: Run Workflow', `Run ${file}`, input);
  const dialog = w.page.locator('.monaco-dialog-box');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  return new Preview(w, await w.frame('body[data-engine] .viewport'));
}

/** A picture in each kind of theme, of the preview alone. */
async function inThemes(w, preview, name) {
  await w.page.locator('.tab', { hasText: 'Preview' }).first().click();
  await w.command('View: Toggle Maximize Editor Group');
  for (const [theme, kind, short] of THEMES) {
    const isOther = (await preview.frame.locator(`body[data-vscode-theme-kind="${kind}"]`).count()) === 0;
    const before = await preview.frame.locator('.picture svg').getAttribute('id');
    await w.again(async () => {
      await w.command('Preferences: Color Theme');
      await w.answer(theme);
      await preview.frame.locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor({ timeout: SOON });
    }, `the theme does not become ${theme}`);
    if (isOther) {
      await w.until(async () => (await preview.frame.locator('.picture:not(.building) svg').getAttribute('id')) !== before, 'the picture is not drawn again');
    }
    await w.shot(`${name}-${short}`);
  }
  await w.command('View: Toggle Maximize Editor Group');
}

describe(
  'The picture of a run',
  (workbench) => {
    it('draws equal steps as one with their progress, and one by one when asked', async () => {
      const w = workbench();
      await w.open('many.mmd', many(24));
      let preview = await Preview.open(w);
      await preview.shows('PROBLEM', 'S0', 'VOTE', 'RETURN');
      assert.match(await preview.node('S0').locator('.nodeLabel').innerText(), /^solve × 24\s+Custom$/);
      const states = Array.from({ length: 24 }, (_, number) => [`S${number}`, { state: number < 6 ? 'finished' : number === 6 ? 'failed' : number < 12 ? 'running' : 'waiting' }]);
      await preview.frame.evaluate((own) => window.postMessage({ type: 'run', run: 'r1', states: [['PROBLEM', { state: 'finished' }], ...own, ['VOTE', { state: 'waiting' }]], boxes: [], revision: null, isOver: false }, '*'), states);
      await w.until(async () => (await preview.node('S0').locator('text.detail').textContent()) === '7/24 · 1 failed', 'seven of 24 are not counted');
      await preview.node('S0').locator('.marks > .state.running').waitFor();
      assert.ok((await smallest(preview)) >= 9, `words are ${await smallest(preview)} pixels high`);
      await w.shot('run-picture-many');
      await w.page.keyboard.press('Control+1');
      preview = await started(w, 'many.mmd', 'How many?');
      await w.runEnded('many.mmd');
      await w.until(async () => (await preview.node('S0').locator('text.detail').textContent()) === '24/24', 'not all are counted');
      await w.command('View: Hide Panel');
      await inThemes(w, preview, 'run-picture-many-finished');
      // By a click, back by the button, and by keys.
      await preview.click('S0');
      await w.until(async () => (await preview.nodes()).length === 27, 'a click does not show each of them');
      assert.ok((await smallest(preview)) >= 9, `words are ${await smallest(preview)} pixels high`);
      await preview.node('S23').locator('.marks > .state.finished').waitFor();
      await w.shot('run-picture-many-opened');
      await preview.frame.locator('button[title^="Draw equal steps as one"]').click();
      await preview.shows('PROBLEM', 'S0', 'VOTE', 'RETURN');
      await preview.node('S0').focus();
      assert.match(await preview.node('S0').getAttribute('aria-label'), /^24 equal steps: S0, S1/);
      await w.page.keyboard.press('Enter');
      await w.until(async () => (await preview.nodes()).length === 27, 'Enter does not show each of them');
      // The focus is where it was, and keys go on.
      assert.equal(await preview.frame.evaluate(() => document.activeElement?.dataset.node), 'S0');
      await w.page.keyboard.press('g');
      await preview.shows('PROBLEM', 'S0', 'VOTE', 'RETURN');
    });

    it('draws what was taken strong, with its value, and lets the rest fade', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith((messages) => {
        const said = messages[0].content;
        if (said.includes('complaint or a question')) return 'complaint';
        if (said.includes('promise only')) return '{"ok": true, "advice": "None."}';
        return said.includes('apology') ? 'We are sorry. <img src=x onerror="document.title=1"> It is on its way.' : undefined;
      });
      await w.open('letters-run.mmd', LETTERS.replace('flowchart LR', 'flowchart TD').replace('inputs: [LETTER, POLICY]', 'inputs: [LETTER]').replace(/.*POLICY.*\n/g, '').replace(', policy: Text}', '}'));
      const preview = await started(w, 'letters-run.mmd', 'Where is my parcel?');
      await w.runEnded('letters-run.mmd');
      await w.command('View: Hide Panel');
      const edge = (id) => preview.frame.locator(`.picture path[data-id="${id}"]`);
      await edge('L_KIND_APOLOGISE_0').and(preview.frame.locator('.taken')).waitFor();
      await edge('L_KIND_EXPLAIN_0').and(preview.frame.locator('.left')).waitFor();
      await edge('L_OK_RETURN_0').and(preview.frame.locator('.taken.way-yes')).waitFor();
      await edge('L_OK_REWRITE_0').and(preview.frame.locator('.left.way-no')).waitFor();
      // A Decision is framed as what it is, and says what it chose.
      await preview.node('OK').locator('.marks > polygon.state.finished').waitFor();
      assert.match(await preview.node('KIND').locator('text.detail').textContent(), /^→ complaint/);
      assert.match(await preview.node('APOLOGISE').locator('.nodeLabel').innerText(), /^apologise\s+Custom$/);
      await inThemes(w, preview, 'run-picture-letters');
      const tooltip = preview.frame.locator('.tooltip');
      const label = preview.frame.locator('.picture .edgeLabel', { hasText: 'answer' }).first();
      await w.again(async () => {
        await page.mouse.move(10, 10);
        await label.hover({ timeout: SOON });
        await tooltip.locator('.value').waitFor({ timeout: SOON });
      }, 'an edge does not say what passed');
      assert.match(await tooltip.locator('.value').innerText(), /^We are sorry\. <img src=x/);
      assert.equal(await tooltip.locator('img').count(), 0);
      await w.shot('run-picture-value');
      await page.mouse.move(10, 10);
      // The same by keys.
      await preview.node('APOLOGISE').focus();
      await w.until(async () => {
        await page.keyboard.press('e');
        return (await preview.frame.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')).startsWith('APOLOGISE → DRAFT');
      }, 'E does not go to the edge');
      assert.match(await tooltip.locator('.value').innerText(), /We are sorry/);
      await page.keyboard.press('Escape');
      assert.equal(await preview.frame.evaluate(() => document.activeElement?.dataset.node), 'APOLOGISE');
    });

    it('shows a Loop that ran out in amber, and what was taken then', async () => {
      const w = workbench();
      const model = await endpoint();
      model.answerWith((messages) => (messages[0].content.includes('good enough') ? 'false' : undefined));
      await w.open('nested-run.mmd', NESTED);
      const preview = await started(w, 'nested-run.mmd', 'The sea is blue.');
      await w.runEnded('nested-run.mmd');
      await w.command('View: Hide Panel');
      const edge = (id) => preview.frame.locator(`.picture path[data-id="${id}"]`);
      await edge('L_GOOD_REPAIR_0').and(preview.frame.locator('.stopped.way-over')).waitFor();
      await edge('L_GOOD_POLISH_0').and(preview.frame.locator('.taken')).waitFor();
      await edge('L_GOOD_RETURN_0').and(preview.frame.locator('.left.way-yes')).waitFor();
      await preview.frame.locator('.marks > rect.stopped').first().waitFor();
      await inThemes(w, preview, 'run-picture-nested');
    });
  },
  { profile: 'endpoint' },
);

describe('The step that a run is at', (workbench) => {
  it('is followed until the user moves the picture, and again when asked', async () => {
    const w = workbench();
    await w.open('wide-run.mmd', WIDE);
    const preview = await Preview.open(w);
    await w.until(async () => (await preview.nodes()).length === 32, 'the preview is not drawn');
    assert.ok((await smallest(preview)) >= 9, `words are ${await smallest(preview)} pixels high`);
    await w.until(() => inSight(preview, 'PROBLEM'), 'the start is not in sight');
    const ids = ['PROBLEM', ...Array.from({ length: 30 }, (_, number) => `N${number}`), 'RETURN'];
    const at = (id, isOver = false) =>
      preview.frame.evaluate(([states, over]) => window.postMessage({ type: 'run', run: 'r1', states, boxes: [], revision: null, isOver: over }, '*'), [
        ids.map((one, place) => [one, { state: place < ids.indexOf(id) || isOver ? 'finished' : one === id ? 'running' : 'waiting' }]),
        isOver,
      ]);
    for (const id of ['N3', 'N17', 'N29']) {
      await at(id);
      await w.until(() => inSight(preview, id), `${id} is not in sight`);
    }
    assert.ok((await smallest(preview)) >= 9);
    await w.shot('run-picture-followed');
    const back = preview.frame.locator('.toolbar .follow');
    assert.ok(!(await back.isVisible()));
    const port = await preview.frame.locator('.viewport').boundingBox();
    await w.page.mouse.move(port.x + port.width / 2, port.y + 40);
    await w.page.mouse.wheel(-6000, 0);
    await back.waitFor();
    await w.until(() => inSight(preview, 'PROBLEM').then(async (seen) => seen || !(await inSight(preview, 'N29'))), 'the wheel does not move');
    const before = await preview.view();
    await at('N12');
    await preview.node('N12').locator('.marks > .state.running').waitFor();
    assert.equal(await preview.view(), before, 'the picture moves although the user moved it');
    await w.shot('run-picture-left');
    await back.click();
    await w.until(() => inSight(preview, 'N12'), 'the run is not followed again');
    await back.waitFor({ state: 'hidden' });
    await at('RETURN', true);
    await w.until(() => inSight(preview, 'RETURN'), 'the output is not in sight at the end');
  });
}, { shared: true });

describe('A change of a large workflow', (workbench) => {
  it('is in the middle of both pictures, and marked', async () => {
    const w = workbench();
    await w.open('wide-change.mmd', WIDE);
    await w.lens();
    await w.commandAnswered('Merrow: Safe Mutations', 'Insert ');
    const rows = w.page.locator('.quick-input-list .monaco-list-row');
    await w.still(rows);
    await rows.filter({ has: w.page.locator('.label-name', { hasText: /^Insert / }) }).first().click();
    const frame = await w.frame('.panes .picture:not(.building) svg');
    await w.until(async () => (await frame.locator('.panes .picture:not(.building) svg').count()) === 2, 'there are no two pictures');
    await frame.locator('.pane:last-child .touched.added').first().waitFor();
    await frame.locator('.pane:first-child .touched-edge.removed').first().waitFor({ state: 'attached' });
    await frame.locator('.pane:last-child .touched-edge.added').first().waitFor({ state: 'attached' });
    for (const [pane, part] of [['first', '.touched-edge.removed'], ['last', '.touched.added']]) {
      await w.until(async () => {
        const [box, port] = [await frame.locator(`.pane:${pane}-child path${part}, .pane:${pane}-child .marks ${part}`).first().boundingBox(), await frame.locator(`.pane:${pane}-child .viewport`).boundingBox()];
        return Math.abs(box.x + box.width / 2 - port.x - port.width / 2) < port.width / 4;
      }, `the change is not in the middle of the ${pane} picture`);
    }
    assert.match(await frame.locator('.kinds').innerText(), /added/);
    await w.shot('run-picture-change');
    await frame.getByRole('button', { name: 'Cancel' }).click();
  });
}, { shared: true });
