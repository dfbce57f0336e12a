/** Shapes as lists of corners. Pure. */

export type Point = readonly [x: number, y: number];

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Whether a polygon has its four corners in the middles of its sides' box. */
export function isDiamond(points: readonly Point[]): boolean {
  if (points.length !== 4) return false;
  const { x, y, width, height } = around(points);
  const near = (one: number, other: number) => Math.abs(one - other) < 1;
  return points.every(([px, py]) => near(px, x + width / 2) || near(py, y + height / 2));
}

/** A polygon whose box is `room` larger on each side. */
export function widened(points: readonly Point[], room: number): readonly Point[] {
  const { x, y, width, height } = around(points);
  const [middleX, middleY] = [x + width / 2, y + height / 2];
  const [wider, higher] = [(width + 2 * room) / (width || 1), (height + 2 * room) / (height || 1)];
  const round = (value: number) => Math.round(value * 100) / 100;
  return points.map(([px, py]) => [round(middleX + (px - middleX) * wider), round(middleY + (py - middleY) * higher)]);
}

function around(points: readonly Point[]): Box {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}
