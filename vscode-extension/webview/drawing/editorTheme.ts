import type { Theme } from './protocol';
import { drawingTheme, type EditorTheme } from './theme';

/** The theme of the page, by what its own style says of `--vscode-*`. */
export function editorTheme(): EditorTheme {
  const style = getComputedStyle(document.documentElement);
  return {
    kind: document.body.dataset['vscodeThemeKind'] ?? '',
    variable: (name) => style.getPropertyValue(`--vscode-${name}`).trim(),
  };
}

/** The theme of drawings on the page as it is now. */
export function currentTheme(): Theme {
  return drawingTheme(editorTheme());
}
