// What the preview looks like with a real workflow: ids below labels, every state in every kind of theme.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';
import { repository } from '../../support/places.mjs';

const LETTERS = readFileSync(path.join(repository, 'examples', 'letters.mmd'), 'utf8');
const STATES = [
  ['LETTER', { state: 'finished' }],
  ['POLICY', { state: 'reused' }],
  ['SORT', { state: 'finished', detail: '1.4 s · 310 tokens · $0.0002' }],
  ['KIND', { state: 'finished', case: 'complaint' }],
  ['APOLOGISE', { state: 'stale', detail: '3.1 s · 520 tokens · $0.0004' }],
  ['EXPLAIN', { state: 'skipped' }],
  ['DRAFT', { state: 'finished' }],
  ['CHECK', { state: 'failed', detail: 'The endpoint refused the key.' }],
  ['OK', { state: 'running', detail: '3 s' }],
  ['REWRITE', { state: 'cancelled' }],
  ['RETURN', { state: 'waiting' }],
];
const NAMES = ['finished', 'reused', 'skipped', 'failed', 'running', 'cancelled', 'waiting', 'stale'];
const THEMES = [
  ['Dark High Contrast', 'vscode-high-contrast', 'high-contrast'],
  ['Light High Contrast', 'vscode-high-contrast-light', 'high-contrast-light'],
  ['Dark Modern', 'vscode-dark', 'dark'],
  ['Light Modern', 'vscode-light', 'light'],
];

/** WCAG's contrast of two computed colours. */
function contrast(one, other) {
  const luminance = (colour) => {
    const [red, green, blue] = colour.match(/[\d.]+/g).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

describe('The look of a workflow', (workbench) => {
  it('has the ids that messages and runs speak of, where labels say something else', async () => {
    const w = workbench();
    await w.open('letters.mmd', LETTERS.replace('DRAFT@{ op: Pass, label: "The draft" }', 'DRAFT@{ op: Pass, label: "draft" }'));
    const preview = await Preview.open(w);
    const ids = await preview.frame.locator('.picture .node-id').allInnerTexts();
    for (const id of ['KIND', 'CHECK', 'OK', 'RETURN']) assert.ok(ids.includes(id), `${id} is not among ${ids.join()}`);
    // "Letter", "draft" and the role "sort" are what the ids say, too.
    for (const id of ['LETTER', 'DRAFT', 'SORT', 'APOLOGISE', 'REWRITE']) assert.ok(!ids.includes(id), `${id} is said twice`);
    const [colours] = [await preview.frame.locator('g[data-node="SORT"]').evaluate((node) => [getComputedStyle(node.querySelector('.node-operator')).color, getComputedStyle(node.querySelector('rect')).fill])];
    assert.ok(contrast(...colours) >= 4.5, colours.join(' on '));
  });

  it('shows every state of a run in every kind of theme', async () => {
    const w = workbench();
    await w.open('letters.mmd', LETTERS.replace('flowchart LR', 'flowchart TD'));
    const preview = await Preview.open(w);
    await w.until(async () => (await preview.nodes()).length === STATES.length, 'the preview is not drawn');
    await preview.frame.evaluate((states) => window.postMessage({ type: 'run', states, boxes: [], revision: null, isOver: false }, '*'), STATES);
    for (const [id, { state }] of STATES) await preview.node(id).locator(`.marks > .state.${state}`).waitFor();
    await w.page.locator('.tab', { hasText: 'Preview letters.mmd' }).first().click();
    await w.command('View: Toggle Maximize Editor Group');
    for (const [theme, kind, name] of THEMES) {
      const before = await preview.frame.locator('.picture svg').getAttribute('id');
      await w.again(async () => {
        await w.command('Preferences: Color Theme');
        await w.answer(theme);
        await preview.frame.locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor({ timeout: SOON });
      }, `the theme does not become ${theme}`);
      await w.until(async () => (await preview.frame.locator('.picture:not(.building) svg').getAttribute('id')) !== before, 'the picture is not drawn again');
      const seen = await preview.frame.evaluate((names) => {
        const frame = (state) => getComputedStyle(document.querySelector(`.picture .state.${state}`)).stroke;
        return [getComputedStyle(document.body).backgroundColor, Object.fromEntries(names.map((state) => [state, frame(state)]))];
      }, NAMES);
      for (const [state, colour] of Object.entries(seen[1])) assert.ok(contrast(colour, seen[0]) >= 3, `${state} is ${colour} on ${seen[0]} in ${theme}`);
      await preview.frame.locator('button[title^="Fit all"]').click();
      await w.shot(`preview-states-${name}`);
    }
    await w.command('View: Toggle Maximize Editor Group');
  });
}, { shared: true });
