import { fillOf } from './contrast';

/**
 * Titles of subgraphs that can be read where edges cross them: an edge into a box from above goes through its title. Mermaid draws
 * titles with the boxes, below all edges.
 */

/** Draw the titles above the edges, each on the colour of its box, or of the page where one sees through the box. */
export function titlesAbove(picture: SVGSVGElement, page: string): void {
  // All colours are read before anything is moved: in between, the browser would have to find out all styles again.
  const boxes = [...picture.querySelectorAll<SVGGElement>('g.cluster[data-id]')].map((group) => ({ group, fill: fillOf(group) }));
  for (const { group, fill } of boxes) {
    const title = group.querySelector<SVGGElement>(':scope > .cluster-label');
    const root = group.closest('g.root');
    if (title === null || root === null || title.textContent.trim() === '') continue;
    const ground = fill === undefined ? page : `rgb(${fill.join(', ')})`;
    for (const words of title.querySelectorAll<HTMLElement>('foreignObject > div')) words.style.backgroundColor = ground;
    for (const words of title.querySelectorAll<SVGTextElement>('text')) {
      words.setAttribute('style', `${words.getAttribute('style') ?? ''};paint-order:stroke;stroke:${ground};stroke-width:5px`);
    }
    // With the box's classes, by which its author gave the words their looks; so no class of ours tells it from the box.
    const above = group.cloneNode(false) as SVGGElement;
    above.removeAttribute('id');
    above.dataset['above'] = 'true';
    above.append(title);
    root.append(above);
  }
}
