/** Lines around nodes, in the shape of the node: a Decision's is a diamond. */
import { svg } from './icons';
import { type Box, isDiamond, type Point, widened } from './polygons';

/** Half of a diamond's sides are that much longer than what they are moved outwards by. */
const SLANT = 1.5;

/** A line `room` outside of a node, whose own box is given. */
export function outline(element: SVGGElement, box: Box, room: number, kind: string): SVGElement {
  const points = corners(element);
  if (points === undefined) {
    const place = { x: box.x - room, y: box.y - room, width: box.width + 2 * room, height: box.height + 2 * room };
    return svg('rect', { ...place, rx: 6, class: kind });
  }
  return svg('polygon', { points: widened(points, room * (isDiamond(points) ? SLANT : 1)).map((point) => point.join(',')).join(' '), class: kind });
}

/** Where the marks of a node are: at the upper corners of its box, or on the upper sides of a diamond. */
export function markPlaces(element: SVGGElement, box: Box): { readonly left: Point; readonly right: Point } {
  const points = corners(element);
  const [across, down] = points !== undefined && isDiamond(points) ? [box.width / 4, box.height / 4] : [0, 0];
  return { left: [box.x + across, box.y + down], right: [box.x + box.width - across, box.y + down] };
}

/** The corners of a node that is a polygon, in its own coordinates. */
function corners(element: SVGGElement): readonly Point[] | undefined {
  const shape = element.querySelector<SVGPolygonElement>(':scope > polygon.label-container:not(.sheet)');
  if (shape === null || shape.points.numberOfItems < 3) return undefined;
  const matrix = shape.transform.baseVal.consolidate()?.matrix;
  return [...shape.points].map(({ x, y }) => [x + (matrix?.e ?? 0), y + (matrix?.f ?? 0)]);
}

/** Sheets behind a node that stands for several: copies of its shape, further right and up. */
export function stack(element: SVGGElement): void {
  const shape = element.querySelector<SVGGraphicsElement>(':scope > .label-container, :scope > rect, :scope > polygon, :scope > path, :scope > circle');
  if (shape === null || element.querySelector(':scope > .sheet') !== null) return;
  for (const step of [4, 8]) {
    const sheet = shape.cloneNode(true) as SVGGraphicsElement;
    sheet.removeAttribute('id');
    sheet.classList.add('sheet');
    sheet.setAttribute('transform', `translate(${step}, ${-step}) ${shape.getAttribute('transform') ?? ''}`.trim());
    element.prepend(sheet);
  }
}
