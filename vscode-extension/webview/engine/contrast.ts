import { type Colour, contrast, read, WORDS } from '../drawing/colours';
import { NODES } from './pieces';

/**
 * Words that can be read on their node. Workflows colour their nodes for a light page; in a dark theme Mermaid would write light
 * words on them.
 */

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
      if (colour === undefined || contrast(colour, fill) >= WORDS) continue;
      const better = contrast([31, 31, 31], fill) >= contrast([255, 255, 255], fill) ? DARK : LIGHT;
      label.style.setProperty(html ? 'color' : 'fill', better, 'important');
      for (const part of label.querySelectorAll<HTMLElement | SVGElement>('p, tspan')) {
        part.style.setProperty(html ? 'color' : 'fill', better, 'important');
      }
    }
  }
}

/** The colour of a node or a subgraph; undefined where one sees through it. */
export function fillOf(group: SVGGElement): Colour | undefined {
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
  const known = read(colour);
  return known === undefined || known.share < 0.5 ? undefined : known.colour;
}
