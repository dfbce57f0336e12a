import type { Theme } from './protocol';

/** The theme that the editor's colours make; what the page's own style says of `--vscode-*`. */
export function currentTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const variable = (name: string) => style.getPropertyValue(`--vscode-${name}`).trim();
  const kind = document.body.dataset['vscodeThemeKind'] ?? '';
  const highContrast = kind.includes('high-contrast');
  const dark = highContrast ? !kind.includes('light') : kind.includes('dark');
  const background = variable('editor-background') || (dark ? '#1f1f1f' : '#ffffff');
  const foreground = variable('editor-foreground') || (dark ? '#cccccc' : '#3b3b3b');
  const mixed = (share: number) => mix(background, foreground, share);
  const contrast = variable('contrastBorder') || foreground;
  return {
    dark,
    highContrast,
    background,
    foreground: highContrast ? foreground : mixed(0.92),
    line: highContrast ? contrast : mixed(0.6),
    border: highContrast ? contrast : mixed(0.45),
    fill: highContrast ? background : mixed(dark ? 0.1 : 0.05),
    groupFill: highContrast ? background : mixed(0.03),
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

/** The colour a `share` of the way from one to another; both `#rrggbb` or `rgb()`. */
function mix(from: string, to: string, share: number): string {
  const [one, other] = [channels(from), channels(to)];
  const parts = one.map((value, index) => Math.round(value + ((other[index] ?? value) - value) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function channels(colour: string): number[] {
  const context = document.createElement('canvas').getContext('2d');
  if (context === null) return [128, 128, 128];
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}
