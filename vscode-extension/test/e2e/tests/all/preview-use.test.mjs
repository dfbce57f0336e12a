// What is done with the preview: zoom, keys, types on edges, export, other colours.
import { existsSync, readFileSync } from 'node:fs';
import { Preview, assert, describe, it } from '../../support/harness.mjs';

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

describe('Use of the preview', (workbench) => {
  it('keeps zoom and place while typing', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('zoom.mmd', PLAIN);
    const preview = await Preview.open(w);
    await preview.frame.locator('button[title^="Zoom in"]').click();
    await preview.frame.locator('button[title^="Zoom in"]').click();
    const scale = (view) => /scale\(([\d.]+)\)/.exec(view)[1];
    const before = scale(await preview.view());
    await w.goTo(3, 18);
    await preview.frame.locator('g.node[data-node="C"] > .marks > .here').waitFor();
    // A node that is drawn again at that moment is nowhere.
    const placeOf = (node) => w.until(() => preview.node(node).boundingBox(), `${node} is nowhere`);
    const place = await placeOf('C');
    await page.keyboard.press('End');
    // Drawn again after each edge, with the cursor's frame on a node.
    const shown = ['A', 'B', 'C'];
    for (const more of ['D', 'E', 'F']) {
      await page.keyboard.type(` --> ${more}[More]`);
      shown.push(more);
      await preview.shows(...shown);
    }
    assert.equal(scale(await preview.view()), before);
    const after = await placeOf('C');
    // The middles: a node where the cursor is has a frame around it.
    const [dx, dy] = [after.x + after.width / 2 - place.x - place.width / 2, after.y + after.height / 2 - place.y - place.height / 2];
    assert.ok(Math.hypot(dx, dy) < 3, 'what was in the middle is elsewhere');
  });

  it('can be used by keys', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('keys.mmd', PLAIN);
    const preview = await Preview.open(w);
    const focused = () => preview.frame.evaluate(() => document.activeElement?.dataset.node);
    await w.until(async () => {
      await preview.node('A').focus();
      await page.keyboard.press('ArrowRight');
      return (await focused()) === 'B';
    }, 'the arrow does not lead to the next node');
    assert.match(await preview.node('B').getAttribute('aria-label'), /^B, Two/);
    const first = await preview.view();
    await page.keyboard.press('+');
    await w.until(async () => (await preview.view()) !== first, 'the key does not enlarge');
    await page.keyboard.press('0');
    const before = await preview.view();
    await page.keyboard.press('+');
    assert.notEqual(await preview.view(), before);
    await page.keyboard.press('0');
    assert.equal(await preview.view(), before);
    await page.keyboard.press('Enter');
    await page.locator('.monaco-editor.focused').first().waitFor();
    await w.until(async () => (await w.cursor()).startsWith('Ln 2, '), 'Enter does not go to the text');
  });

  it('shows types on edges when asked', async () => {
    const w = workbench();
    await w.open('types.mmd', FLOW);
    const preview = await Preview.open(w);
    assert.equal(await preview.frame.locator('.edgeLabel', { hasText: 'Answer' }).count(), 0);
    await preview.frame.locator('button[title^="Types"]').click();
    await preview.frame.locator('.edgeLabel', { hasText: 'Answer' }).first().waitFor();
    const labels = await preview.frame.locator('span.edgeLabel').allInnerTexts();
    assert.ok(labels.some((words) => /^problem\s+Problem$/.test(words.trim())), labels.join());
    await w.shot('preview-types');
    await preview.frame.locator('button[title^="Types"]').click();
    await preview.frame.locator('.edgeLabel', { hasText: 'Answer' }).first().waitFor({ state: 'detached' });
  });

  it('exports SVG and PNG', async () => {
    const w = workbench();
    await w.open('export.mmd', FLOW);
    await Preview.open(w);
    for (const [format, right] of [
      ['SVG', (data) => data.toString().startsWith('<?xml') && data.includes('Calculate') && !data.includes('foreignObject')],
      ['PNG', (data) => data.subarray(1, 4).toString() === 'PNG' && data.length > 5000],
    ]) {
      const name = `export.${format.toLowerCase()}`;
      await w.command(`Merrow: Export Diagram as ${format}`);
      // The dialog writes its own proposal first.
      await w.until(async () => (await w.page.locator('.quick-input-widget input').first().inputValue()).endsWith(name), 'the dialog proposes no name');
      await w.answer(w.file(name));
      await w.until(() => existsSync(w.file(name)) && right(readFileSync(w.file(name))), `${name} is not as it should be`);
    }
  });

  it('wears the colours of the editor', async () => {
    const w = workbench();
    await w.open('themes.mmd', `${FLOW}    ENSEMBLE --> PLAIN[No class]\n`);
    const preview = await Preview.open(w);
    await preview.shows(...NODES, 'PLAIN');
    for (const [theme, kind, name] of [
      ['Dark Modern', 'vscode-dark', 'dark'],
      ['Dark High Contrast', 'vscode-high-contrast', 'high-contrast'],
      ['Light Modern', 'vscode-light', 'light'],
    ]) {
      const before = await preview.frame.locator('.picture svg').getAttribute('id');
      await w.command('Preferences: Color Theme');
      await w.answer(theme);
      await preview.frame.locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor();
      await w.until(async () => (await preview.frame.locator('.picture:not(.building) svg').getAttribute('id')) !== before, 'the picture is not drawn again');
      await w.shot(`preview-${name}`);
    }
  });
}, { shared: true });
