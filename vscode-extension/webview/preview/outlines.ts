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

/** Where the marks of a node are, and where what is said of it begins or has its middle. */
export interface MarkPlaces {
  readonly left: Point;
  readonly right: Point;
  readonly words: Point;
  readonly anchor: 'start' | 'middle';
}

/** The upper corners of a node's box and below it; of a diamond its upper sides, and beside it where edges go out below. */
export function markPlaces(element: SVGGElement, { x, y, width, height }: Box, isSideways: boolean): MarkPlaces {
  const points = corners(element);
  const below = { words: [x + width / 2, y + height + 15], anchor: 'middle' } as const;
  if (points === undefined || !isDiamond(points)) return { left: [x, y], right: [x + width, y], ...below };
  const beside = { words: [x + width * 0.72 + 14, y + height * 0.22], anchor: 'start' } as const;
  return { left: [x + width / 4, y + height / 4], right: [x + (width * 3) / 4, y + height / 4], ...(isSideways ? below : beside) };
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
