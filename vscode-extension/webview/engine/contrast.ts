import { NODES } from './pieces';

/**
 * Words that can be read on their node. Workflows colour their nodes for a light page; in a dark theme Mermaid would write light
 * words on them. WCAG 2.2, "relative luminance" and "contrast ratio"; AA wants 4.5.
 */

type Colour = readonly [number, number, number];
const ENOUGH = 4.5;
const DARK = '#1f1f1f';
const LIGHT = '#ffffff';

/** Give the words of each node and subgraph whose author chose no colour for them one that can be read. */
export function readable(picture: SVGSVGElement): void {
  for (const group of picture.querySelectorAll<SVGGElement>(`${NODES}, g.cluster`)) {
    const fill = fillOf(group);
    if (fill === undefined) continue;
    for (const label of group.querySelectorAll<HTMLElement | SVGElement>('span.nodeLabel, .label text, .cluster-label text')) {
      if (/(?:^|;)\s*(?:color|fill)\s*:/.test(label.closest('.label')?.getAttribute('style') ?? '')) continue;
      const html = label instanceof HTMLElement;
      const style = getComputedStyle(label);
      const colour = parse(html ? style.color : style.fill);
      if (colour === undefined || contrast(colour, fill) >= ENOUGH) continue;
      const better = contrast([31, 31, 31], fill) >= contrast([255, 255, 255], fill) ? DARK : LIGHT;
      label.style.setProperty(html ? 'color' : 'fill', better, 'important');
      for (const part of label.querySelectorAll<HTMLElement | SVGElement>('p, tspan')) {
        part.style.setProperty(html ? 'color' : 'fill', better, 'important');
      }
    }
  }
}

function fillOf(group: SVGGElement): Colour | undefined {
  for (const shape of group.querySelectorAll<SVGElement>(':scope > rect, :scope > .label-container, :scope > .label-container *, :scope > polygon, :scope > path, :scope > circle')) {
    const style = getComputedStyle(shape);
    if (shape.tagName === 'g' || style.fill === 'none' || Number(style.fillOpacity) === 0) continue;
    const colour = parse(style.fill);
    if (colour !== undefined) return colour;
  }
  return undefined;
}

/** A computed colour; undefined where one can see through it. */
function parse(colour: string): Colour | undefined {
  const found = /^rgba?\(\s*([\d.]+)[ ,]+([\d.]+)[ ,]+([\d.]+)(?:[ ,/]+([\d.]+))?\s*\)$/.exec(colour);
  if (found === null || (found[4] !== undefined && Number(found[4]) < 0.5)) return undefined;
  return [Number(found[1]), Number(found[2]), Number(found[3])];
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Colour;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Colour, other: Colour): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}
