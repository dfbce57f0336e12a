import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Colour, contrast, distinct, mixed, over, read, SHAPES, WORDS, written } from '../../webview/drawing/colours';
import { drawingTheme, type EditorTheme, ground } from '../../webview/drawing/theme';
import { palette } from '../../webview/preview/palette';

/** VS Code's own themes: what their files and the registered defaults say of the colours that the preview takes. */
const DARK = {
  'editor-background': '#1f1f1f', 'editor-foreground': '#cccccc', descriptionForeground: '#9d9d9d', disabledForeground: '#cccccc80',
  'editorError-foreground': '#f85149', 'editorWarning-foreground': '#cca700', 'editorInfo-foreground': '#3794ff',
  'charts-blue': '#3794ff', 'charts-orange': '#d18616', 'charts-purple': '#b180d7', 'charts-yellow': '#cca700',
  'testing-iconPassed': '#73c991', 'testing-iconFailed': '#f14c4c',
};
const LIGHT = {
  'editor-background': '#ffffff', 'editor-foreground': '#3b3b3b', descriptionForeground: '#3b3b3b', disabledForeground: '#61616180',
  'editorError-foreground': '#e51400', 'editorWarning-foreground': '#bf8803', 'editorInfo-foreground': '#1a85ff',
  'charts-blue': '#1a85ff', 'charts-orange': '#d18616', 'charts-purple': '#652d90', 'charts-yellow': '#bf8803',
  'testing-iconPassed': '#73c991', 'testing-iconFailed': '#f14c4c',
};
const HIGH = {
  contrastBorder: '#6fc3df', 'editor-background': '#000000', 'editor-foreground': '#ffffff', descriptionForeground: '#ffffffb3', disabledForeground: '#a5a5a5',
  'editorError-foreground': '#f48771', 'editorWarning-foreground': '#ffd370', 'editorInfo-foreground': '#59a4f9',
  'charts-blue': '#59a4f9', 'charts-orange': '#d18616', 'charts-purple': '#b180d7', 'charts-yellow': '#ffd370',
  'testing-iconPassed': '#73c991', 'testing-iconFailed': '#f14c4c',
};
const THEMES: Record<string, readonly [string, Record<string, string>]> = {
  'Dark Modern': ['vscode-dark', DARK],
  'Dark+': ['vscode-dark', { ...DARK, 'editor-background': '#1e1e1e', 'editor-foreground': '#d4d4d4', 'editorError-foreground': '#f14c4c' }],
  'Light Modern': ['vscode-light', LIGHT],
  'Light+': ['vscode-light', { ...LIGHT, 'editor-foreground': '#000000', descriptionForeground: '#717171' }],
  'Solarized Dark': ['vscode-dark', { ...DARK, 'editor-background': '#002b36', 'editor-foreground': '#839496' }],
  'Solarized Light': ['vscode-light', { ...LIGHT, 'editor-background': '#fdf6e3', 'editor-foreground': '#657b83' }],
  'Dark High Contrast': ['vscode-high-contrast', HIGH],
  'Light High Contrast': ['vscode-high-contrast vscode-high-contrast-light', { ...LIGHT, contrastBorder: '#0f4a85', 'editor-foreground': '#292929', 'editorError-foreground': '#b5200d', 'testing-iconPassed': '#007100' }],
  'a theme of which nothing is known': ['vscode-dark', {}],
  'a light theme of which nothing is known': ['vscode-light', {}],
};
const STATES = ['waiting', 'running', 'finished', 'reused', 'skipped', 'failed', 'cancelled', 'stale'];
const OTHERS = ['error', 'warning', 'hint', 'lit', 'node'];

function editor(kind: string, colours: Record<string, string>): EditorTheme {
  return { kind, variable: (name) => colours[name] ?? '' };
}

function colour(text: string | undefined): Colour {
  const known = read(text ?? '');
  assert.ok(known?.share === 1, `${text} is not a colour`);
  return known.colour;
}

for (const [name, [kind, colours]] of Object.entries(THEMES)) {
  describe(`In ${name}`, () => {
    const theme = editor(kind, colours);
    const { background } = ground(theme);
    const drawn = drawingTheme(theme);
    const marks = palette(theme);

    it('each state and finding is distinct from the background, and the sign in it too', () => {
      for (const state of [...STATES, ...OTHERS]) {
        const found = contrast(colour(marks[`--merrow-${state}`]), background);
        assert.ok(found >= SHAPES, `${state} has a contrast of ${found.toFixed(2)}`);
      }
    });

    it('lines and borders can be seen, and words read', () => {
      for (const part of ['line', 'border'] as const) assert.ok(contrast(colour(drawn[part]), background) >= SHAPES, part);
      for (const behind of [drawn.fill, drawn.background, drawn.groupFill]) {
        const found = contrast(colour(drawn.foreground), colour(behind));
        assert.ok(found >= WORDS, `words on ${behind} have a contrast of ${found.toFixed(2)}`);
      }
    });

    it('the words on nodes that a run did not reach can be read', () => {
      const left = Number(marks['--merrow-dimmed']);
      for (const fill of ['#e2e2f2', '#d0e1f9', '#f9c2c2', '#f9e4b7', '#ffffff']) {
        const found = contrast([31, 31, 31], mixed(background, colour(fill), left));
        assert.ok(found >= WORDS, `words on ${fill} have a contrast of ${found.toFixed(2)}`);
      }
    });
  });
}

describe('Colours', () => {
  it('of charts are taken without their transparency', () => {
    const marks = palette(editor('vscode-dark', { ...DARK, 'charts-orange': '#d1861640' }));
    assert.equal(marks['--merrow-cancelled'], '#d18616');
  });

  it('are read as CSS writes them', () => {
    assert.deepEqual(read('#abc'), { colour: [170, 187, 204], share: 1 });
    assert.deepEqual(read('#11223380'), { colour: [17, 34, 51], share: 128 / 255 });
    assert.deepEqual(read('rgba(1, 2, 3, 0.5)'), { colour: [1, 2, 3], share: 0.5 });
    assert.deepEqual(read('rgb(1 2 3 / 50%)'), { colour: [1, 2, 3], share: 0.5 });
    assert.equal(read('url(https://example.org)'), undefined);
    assert.deepEqual(over('#ffffff80', [0, 0, 0], [9, 9, 9]), [128, 128, 128]);
    assert.deepEqual(over('', [0, 0, 0], [9, 9, 9]), [9, 9, 9]);
  });

  it('have the contrast that WCAG says', () => {
    assert.equal(contrast([0, 0, 0], [255, 255, 255]), 21);
    assert.equal(contrast([7, 7, 7], [7, 7, 7]), 1);
    assert.equal(contrast([119, 119, 119], [255, 255, 255]).toFixed(2), '4.48');
  });

  it('are moved as far as contrast needs, whatever they are, and not where they have it', () => {
    for (let seed = 0; seed < 500; seed += 1) {
      const part = (factor: number) => (seed * factor) % 256;
      const [one, behind]: [Colour, Colour] = [[part(37), part(91), part(53)], [part(17), part(113), part(71)]];
      const found = distinct(one, behind, SHAPES);
      assert.ok(contrast(found, behind) >= SHAPES, `${written(one)} on ${written(behind)}`);
      if (contrast(one, behind) >= SHAPES) assert.deepEqual(found, one);
    }
  });
});
