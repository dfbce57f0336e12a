import type { Graph } from '../../src/preview/protocol';
import { element } from './dom';
import { svg } from './icons';
import type { Picture } from './picture';

/** Curves that are drawn at most: more of them show nothing. */
const MOST = 400;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Which step remembers whose results, as curves over the picture, beside its arrows: in a layer of its own, in the picture's pixels. */
export class Memories {
  private layer: Element | undefined;
  /** Whether they are wanted. */
  on = false;

  /** Show or hide them; whether they are shown now. */
  toggle(picture: Picture | undefined, graph: Pick<Graph, 'nodes'> | undefined): boolean {
    this.on = !this.on;
    this.show(picture, graph);
    return this.on;
  }

  /** Draw the curves of a graph, where they are wanted. */
  show(picture: Picture | undefined, graph: Pick<Graph, 'nodes'> | undefined): void {
    this.layer?.remove();
    this.layer = undefined;
    if (!this.on || picture === undefined || graph === undefined) return;
    const places = picture.places();
    const curves = graph.nodes.flatMap(({ id, remembers = [] }) => remembers.map((of) => ({ from: of, to: id }))).slice(0, MOST);
    const drawn = curves.flatMap(({ from, to }) => {
      const [start, end] = [places.get(from), places.get(to)];
      if (start === undefined || end === undefined) return [];
      return [svg('path', { d: curve(start, end), class: 'memory', 'data-from': from, 'data-to': to, 'marker-end': 'url(#merrow-memory)' })];
    });
    if (drawn.length === 0) return;
    const tip = svg('marker', { id: 'merrow-memory', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' }, svg('path', { d: 'M1 1 7 4 1 7' }));
    const box = { width: picture.width, height: picture.height, viewBox: `0 0 ${picture.width} ${picture.height}` };
    this.layer = element('div', { class: 'memories', 'aria-hidden': 'true' }, svg('svg', box, svg('defs', {}, tip), ...drawn));
    picture.root.append(this.layer);
  }
}

/** A curve from the right side of one box to that of another, further out the longer it is, so that it leaves the arrows alone. */
function curve(from: Box, to: Box): string {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x + to.width, to.y + to.height / 2];
  const out = Math.max(x1, x2) + 24 + Math.abs(y2 - y1) / 6;
  const round = (value: number) => Math.round(value * 10) / 10;
  return `M${round(x1)} ${round(y1)}C${round(out)} ${round(y1)} ${round(out)} ${round(y2)} ${round(x2)} ${round(y2)}`;
}
