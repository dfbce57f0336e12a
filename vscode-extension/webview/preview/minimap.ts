import type { GraphNode, NodeRun } from '../../src/preview/protocol';
import { element } from './dom';
import type { Picture } from './picture';
import type { Stage } from './stage';

/** Nodes above which there is a minimap. */
export const MANY = 100;
/** Pixels that it has at most and, a side, at least. */
const WIDEST = 200;
const HIGHEST = 150;
const LEAST = 30;

/** All of a large picture in small: its nodes, and a frame around what is in sight, which a click or a drag moves. */
export class Minimap {
  private readonly canvas = element('canvas');
  private readonly frame = element('div', { class: 'sight' });
  readonly element = element('div', { class: 'minimap', role: 'img', 'aria-label': 'All of the flowchart; click to go there', hidden: '' }, this.canvas, this.frame);
  private picture: Picture | undefined;
  private places: ReturnType<Picture['places']> = new Map();
  private wide = 1;
  private high = 1;

  constructor(private readonly stage: Stage) {
    const go = (event: PointerEvent) => {
      const box = this.canvas.getBoundingClientRect();
      this.stage.centre((event.clientX - box.left) / this.wide, (event.clientY - box.top) / this.high);
    };
    this.element.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.element.setPointerCapture(event.pointerId);
      go(event);
    });
    this.element.addEventListener('pointermove', (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) go(event);
    });
  }

  /** Another picture is shown. */
  use(picture: Picture): void {
    this.picture = picture;
    this.element.hidden = picture.size <= MANY;
    if (this.element.hidden) return;
    this.places = picture.places();
    const scale = Math.min(WIDEST / picture.width, HIGHEST / picture.height);
    const [width, height] = [Math.max(picture.width * scale, LEAST), Math.max(picture.height * scale, LEAST)];
    [this.wide, this.high] = [width / picture.width, height / picture.height];
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.follow();
  }

  /** Draw the nodes in the colours of their states. */
  draw(nodes: readonly GraphNode[], run: ReadonlyMap<string, NodeRun>): void {
    const context = this.element.hidden ? null : this.canvas.getContext('2d');
    if (context === null) return;
    const style = getComputedStyle(document.body);
    const colour = (name: string) => style.getPropertyValue(`--merrow-${name}`);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const { id, diagnostics } of nodes) {
      const place = this.places.get(id);
      if (place === undefined) continue;
      const state = run.get(id)?.state;
      const wrong = diagnostics.some(({ severity }) => severity === 'error');
      context.fillStyle = colour(state ?? (wrong ? 'error' : 'node'));
      context.fillRect(place.x * this.wide, place.y * this.high, Math.max(place.width * this.wide, 1.5), Math.max(place.height * this.high, 1.5));
    }
  }

  /** The view has changed. */
  follow(): void {
    if (this.element.hidden || this.picture === undefined) return;
    const { x, y, width, height } = this.stage.sight;
    const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
    const [right, bottom] = [Math.min(x + width, this.picture.width), Math.min(y + height, this.picture.height)];
    Object.assign(this.frame.style, {
      left: `${left * this.wide}px`,
      top: `${top * this.high}px`,
      width: `${Math.max(right - left, 0) * this.wide}px`,
      height: `${Math.max(bottom - top, 0) * this.high}px`,
    });
  }
}
