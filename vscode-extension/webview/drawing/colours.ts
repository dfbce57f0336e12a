/**
 * Colours that can be told from what is behind them: WCAG 2.2, "relative luminance" and "contrast ratio". AA wants 4.5 of words and 3 of
 * shapes and lines. Pure.
 */

/** Red, green and blue from 0 to 255. */
export type Colour = readonly [number, number, number];

/** The least contrast of words, and of shapes and lines. */
export const WORDS = 4.5;
export const SHAPES = 3;

const HEX = /^#([\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})$/i;
const FUNCTION = /^rgba?\(\s*([\d.]+)[ ,]+([\d.]+)[ ,]+([\d.]+)(?:[ ,/]+([\d.]+)(%?))?\s*\)$/;

/** A colour as CSS writes it and how much of it is seen, from 0 to 1; undefined where it is another notation. */
export function read(text: string): { readonly colour: Colour; readonly share: number } | undefined {
  const hex = HEX.exec(text.trim())?.[1];
  if (hex !== undefined) {
    const digits = hex.length < 5 ? hex.replaceAll(/./g, '$&$&') : hex;
    const [red = 0, green = 0, blue = 0, alpha = 255] = (digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
    return { colour: [red, green, blue], share: alpha / 255 };
  }
  const found = FUNCTION.exec(text.trim());
  if (found === null) return undefined;
  const share = found[4] === undefined ? 1 : Number(found[4]) / (found[5] === '%' ? 100 : 1);
  return { colour: [Number(found[1]), Number(found[2]), Number(found[3])], share };
}

/** The colour that is seen where `text` lies over `behind`; `otherwise` where it can't be read. */
export function over(text: string, behind: Colour, otherwise: Colour): Colour {
  const known = read(text);
  return known === undefined ? otherwise : mixed(behind, known.colour, known.share);
}

/** The colour a `share` of the way from one to another. */
export function mixed(from: Colour, to: Colour, share: number): Colour {
  return [0, 1, 2].map((part) => Math.round((from[part] ?? 0) + ((to[part] ?? 0) - (from[part] ?? 0)) * share)) as unknown as Colour;
}

export function written(colour: Colour): string {
  return `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Colour;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, from 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const BLACK: Colour = [0, 0, 0];
const WHITE: Colour = [255, 255, 255];

/** `colour`, moved towards black or white as little as makes its contrast to `behind` at least `enough`. */
export function distinct(colour: Colour, behind: Colour, enough: number): Colour {
  const towards = contrast(BLACK, behind) > contrast(WHITE, behind) ? BLACK : WHITE;
  for (let share = 0; share < 1; share += 0.05) {
    const candidate = mixed(colour, towards, share);
    if (contrast(candidate, behind) >= enough) return candidate;
  }
  return towards;
}
