/** The colours of a drawing, from those of the editor's theme. Pure. */
import { type Colour, distinct, mixed, over, SHAPES, WORDS, written } from './colours';
import type { Theme } from './protocol';

const LIGHT_PAGE: Colour = [255, 255, 255];
const DARK_PAGE: Colour = [31, 31, 31];

/** What is known of the editor's theme: its kind as VS Code names it, and its colours by the names of VS Code's variables, '' where there is none. */
export interface EditorTheme {
  readonly kind: string;
  readonly variable: (name: string) => string;
}

/** Whether a theme is dark, and what is behind everything and what is written on it. */
export function ground({ kind, variable }: EditorTheme): { readonly dark: boolean; readonly highContrast: boolean; readonly background: Colour; readonly foreground: Colour } {
  const highContrast = kind.includes('high-contrast');
  const dark = highContrast ? !kind.includes('light') : kind.includes('dark');
  const page = dark ? DARK_PAGE : LIGHT_PAGE;
  const background = over(variable('editor-background'), page, page);
  return { dark, highContrast, background, foreground: over(variable('editor-foreground'), background, dark ? LIGHT_PAGE : DARK_PAGE) };
}

/** The colours and the font of a drawing in the editor's theme. Words, lines and borders can be read and seen in every theme. */
export function drawingTheme(editor: EditorTheme): Theme {
  const { dark, highContrast, background, foreground } = ground(editor);
  const { variable } = editor;
  const share = (part: number) => mixed(background, foreground, part);
  const line = (part: number) => written(highContrast ? over(variable('contrastBorder'), background, foreground) : distinct(share(part), background, SHAPES));
  const fill = highContrast ? background : share(dark ? 0.1 : 0.05);
  return {
    dark,
    highContrast,
    background: written(background),
    foreground: written(highContrast ? foreground : distinct(share(0.92), fill, WORDS)),
    line: line(0.6),
    border: line(0.45),
    fill: written(fill),
    groupFill: written(highContrast ? background : share(0.03)),
    font: variable('font-family') || 'sans-serif',
  };
}

/** For exported pictures, which end up on light pages. */
export const LIGHT: Theme = {
  dark: false,
  highContrast: false,
  background: '#ffffff',
  foreground: '#1f1f1f',
  line: '#616161',
  border: '#8a8a8a',
  fill: '#f5f5f5',
  groupFill: '#fafafa',
  font: 'Helvetica, Arial, sans-serif',
};
