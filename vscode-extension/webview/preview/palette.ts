/** The colours of findings and of the states of a run, from the colours of the editor's theme. */
import type { RunState, Severity } from '../../src/preview/protocol';
import { distinct, over, read, SHAPES, written } from '../drawing/colours';
import { type EditorTheme, ground } from '../drawing/theme';

/** By which of VS Code's colours each is known, the first that the theme has; and which it is where the theme has none. */
const SOURCES: Readonly<Record<Severity | RunState | 'lit' | 'stopped' | 'yes' | 'no' | 'taken' | 'memory' | 'node', readonly [names: readonly string[], otherwise: string]>> = {
  error: [['editorError-foreground'], '#f14c4c'],
  warning: [['editorWarning-foreground'], '#cca700'],
  hint: [['editorInfo-foreground'], '#3794ff'],
  waiting: [['descriptionForeground'], '#8a8a8a'],
  running: [['charts-blue'], '#3794ff'],
  asking: [['charts-yellow', 'editorWarning-foreground'], '#cca700'],
  finished: [['testing-iconPassed', 'charts-green'], '#2ea043'],
  reused: [['charts-purple'], '#b180d7'],
  skipped: [['disabledForeground'], '#8a8a8a'],
  failed: [['testing-iconFailed', 'editorError-foreground'], '#f14c4c'],
  cancelled: [['charts-orange'], '#d18616'],
  stale: [['charts-yellow', 'editorWarning-foreground'], '#cca700'],
  kept: [['testing-iconPassed', 'charts-green'], '#2ea043'],
  reset: [['charts-yellow', 'editorWarning-foreground'], '#cca700'],
  new: [['charts-blue'], '#3794ff'],
  gone: [['disabledForeground'], '#8a8a8a'],
  lit: [['charts-orange'], '#d18616'],
  stopped: [['editorWarning-foreground', 'charts-yellow'], '#cca700'],
  yes: [['charts-green'], '#2ea043'],
  no: [['charts-purple'], '#b180d7'],
  taken: [['editor-foreground'], '#8a8a8a'],
  memory: [['charts-purple'], '#b180d7'],
  node: [['descriptionForeground'], '#8a8a8a'],
};

/** How much is left of a node that a run did not reach, whose words can still be read, and of an edge that it did not take. */
const DIMMED = 0.7;
const LEFT = 0.4;
const LEFT_IN_CONTRAST = 0.6;

/** CSS properties by name: `--merrow-STATE`, each at least as distinct from the editor's background as shapes must be. */
export function palette(editor: EditorTheme): Readonly<Record<string, string>> {
  const { highContrast, background, foreground } = ground(editor);
  const colours = Object.entries(SOURCES).map(([state, [names, otherwise]]): [string, string] => {
    const name = names.find((one) => read(editor.variable(one)) !== undefined);
    // Colours of charts are those of highlights, which words shine through.
    const known = name?.startsWith('charts-') === true ? read(editor.variable(name))?.colour : undefined;
    const colour = known ?? over(name === undefined ? otherwise : editor.variable(name), background, foreground);
    return [`--merrow-${state}`, written(distinct(colour, background, SHAPES))];
  });
  return { ...Object.fromEntries(colours), '--merrow-dimmed': String(highContrast ? 1 : DIMMED), '--merrow-left': String(highContrast ? LEFT_IN_CONTRAST : LEFT) };
}
