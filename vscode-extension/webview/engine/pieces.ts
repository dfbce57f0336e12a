import type { Drawing } from '../drawing/protocol';

/** Elements of a picture up to which it is one piece, and how many a further piece has. */
const WHOLE = 150;
const PIECE = 40;
/** Nodes in each look, and those that are images. */
export const NODES = 'g.node, g.rough-node, g.image-shape, g.icon-shape';

/** Give nodes their id as `data-node`, and subgraphs theirs as `data-id`. */
export function named(picture: SVGSVGElement): void {
  for (const node of picture.querySelectorAll<SVGGElement>(NODES)) {
    const id = /(?:^|-)flowchart-(.*)-\d+$/s.exec(node.id)?.[1];
    if (id !== undefined) node.dataset['node'] = id;
  }
  // Mermaid puts the picture's own id before that of a subgraph.
  for (const group of picture.querySelectorAll<SVGGElement>('g.cluster:not([data-id])')) {
    group.dataset['id'] = group.id.startsWith(`${picture.id}-`) ? group.id.slice(picture.id.length + 1) : group.id;
  }
}

/**
 * A picture as text, cut so that putting it into a page need not be one long task. With `whole` it stays in one piece.
 */
export function inPieces(picture: SVGSVGElement, whole: boolean): Omit<Drawing, 'number'> {
  // Only an editor of Mermaid's own needs the points again.
  for (const path of picture.querySelectorAll('[data-points]')) path.removeAttribute('data-points');
  const box = picture.viewBox.baseVal;
  const parts: { slot: number; svg: string }[] = [];
  const lists = [...picture.querySelectorAll('g.edgePaths, g.edgeLabels, g.nodes')];
  const many = lists.reduce((sum, list) => sum + list.childElementCount, 0) > WHOLE;
  if (many && !whole) {
    // Inner lists first: a node may be a group that has lists of its own.
    for (const [slot, list] of lists.reverse().entries()) {
      const children = [...list.children];
      if (children.length <= PIECE || children.some((child) => child.querySelector('[data-slot]') !== null)) continue;
      list.setAttribute('data-slot', String(slot));
      for (let first = 0; first < children.length; first += PIECE) {
        parts.push({ slot, svg: children.slice(first, first + PIECE).map((child) => child.outerHTML).join('') });
      }
      list.replaceChildren();
    }
  }
  return { frame: picture.outerHTML, parts, width: box.width, height: box.height };
}
