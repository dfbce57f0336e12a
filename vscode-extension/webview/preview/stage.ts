/** The viewport over the picture: where it is, how large, and how both are changed by pointer, wheel and keys. */
import { fitted, intoSight, LARGEST, SMALLEST, type View } from './fitting';

export type { View } from './fitting';

/** Pixels that a pointer may tremble during a click. */
const TREMBLE = 4;

export class Stage {
  private view: View = { scale: 1, x: 0, y: 0, mode: 'readable' };
  /** Whether a picture was fitted into the viewport. */
  private placed = false;
  width = 0;
  height = 0;

  constructor(
    readonly viewport: HTMLElement,
    private readonly world: HTMLElement,
    private readonly changed: (view: View) => void,
    /** The user moved or enlarged the picture. */
    private readonly moved: () => void = () => undefined,
    /** The viewport has another size. */
    private readonly resized: () => void = () => undefined,
  ) {
    viewport.addEventListener('wheel', (event) => { this.wheel(event); }, { passive: false });
    viewport.addEventListener('pointerdown', (event) => { this.drag(event); });
    new ResizeObserver(() => {
      this.refit();
      this.resized();
    }).observe(viewport);
  }

  get scale(): number {
    return this.view.scale;
  }

  /** Whether all of the picture is in sight, and kept there. */
  get showsAll(): boolean {
    const { clientWidth, clientHeight } = this.viewport;
    const { scale, mode } = this.view;
    return mode !== 'free' && this.width * scale <= clientWidth && this.height * scale <= clientHeight;
  }

  /** The part of the picture that is in sight, in the picture's own pixels. */
  get sight(): { readonly x: number; readonly y: number; readonly width: number; readonly height: number } {
    const { scale, x, y } = this.view;
    return { x: -x / scale, y: -y / scale, width: this.viewport.clientWidth / scale, height: this.viewport.clientHeight / scale };
  }

  /** Take over a kept view. */
  restore(view: View): void {
    this.placed = true;
    this.set(view);
  }

  /** The picture's own size in pixels. */
  resize(width: number, height: number): void {
    [this.width, this.height] = [width, height];
    this.refit();
  }

  /** All of the picture, not enlarged. */
  fit(): void {
    this.fitAs('whole');
  }

  /** As large as the viewport allows, but readable: as it was at first. */
  readable(): void {
    this.fitAs('readable');
  }

  private refit(): void {
    if (this.view.mode !== 'free') this.fitAs(this.view.mode);
    else this.changed(this.view);
  }

  private fitAs(mode: 'readable' | 'whole'): void {
    const { clientWidth: width, clientHeight: height } = this.viewport;
    if (width === 0 || this.width === 0) return;
    const before = this.placed ? this.view : undefined;
    this.placed = true;
    this.set(fitted(mode, this, { width, height }, before));
  }

  /** Enlarge `factor` times around a point of the viewport, by default its middle. */
  zoom(factor: number, x = this.viewport.clientWidth / 2, y = this.viewport.clientHeight / 2): void {
    const scale = Math.min(Math.max(this.view.scale * factor, SMALLEST), LARGEST);
    const share = scale / this.view.scale;
    this.moved();
    this.set({ scale, x: x - (x - this.view.x) * share, y: y - (y - this.view.y) * share, mode: 'free' });
  }

  pan(dx: number, dy: number): void {
    if (dx === 0 && dy === 0) return;
    this.moved();
    this.set({ ...this.view, x: this.view.x + dx, y: this.view.y + dy, mode: 'free' });
  }

  /** Move the picture without a wish of the user: it is fitted as it was. */
  shift(dx: number, dy: number): void {
    if (dx !== 0 || dy !== 0) this.set({ ...this.view, x: this.view.x + dx, y: this.view.y + dy });
  }

  /** Bring a point of the picture, in its own pixels, into the middle. */
  centre(x: number, y: number): void {
    const { scale } = this.view;
    this.moved();
    this.set({ scale, x: this.viewport.clientWidth / 2 - x * scale, y: this.viewport.clientHeight / 2 - y * scale, mode: 'free' });
  }

  /** Move the picture as little as shows all of these elements, given as they are on the screen; nothing where they are shown. */
  reveal(...elements: readonly Element[]): void {
    const boxes = elements.map((element) => element.getBoundingClientRect()).filter(({ width, height }) => width > 0 || height > 0);
    if (boxes.length === 0) return;
    const [left, top, right, bottom] = bounds(boxes);
    const port = this.viewport.getBoundingClientRect();
    this.shift(intoSight(left, right, port.left, port.right), intoSight(top, bottom, port.top, port.bottom));
  }

  /** Bring these elements into the middle; where they don't fit, the first of them. */
  middle(...elements: readonly Element[]): void {
    const boxes = elements.map((element) => element.getBoundingClientRect()).filter(({ width, height }) => width > 0 || height > 0);
    const [first] = boxes;
    if (first === undefined) return;
    const port = this.viewport.getBoundingClientRect();
    const all = bounds(boxes);
    const fits = all[2] - all[0] <= port.width && all[3] - all[1] <= port.height;
    const [left, top, right, bottom] = fits ? all : bounds([first]);
    this.shift((port.left + port.right - left - right) / 2, (port.top + port.bottom - top - bottom) / 2);
  }

  private set(view: View): void {
    this.view = view;
    this.world.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    this.changed(view);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      const port = this.viewport.getBoundingClientRect();
      this.zoom(Math.exp((-event.deltaY * unit) / 300), event.clientX - port.left, event.clientY - port.top);
    } else if (event.shiftKey && event.deltaX === 0) this.pan(-event.deltaY * unit, 0);
    else this.pan(-event.deltaX * unit, -event.deltaY * unit);
  }

  private drag(start: PointerEvent): void {
    if (start.button > 1) return;
    let [x, y, dragging] = [start.clientX, start.clientY, false];
    const move = (event: PointerEvent) => {
      if (event.pointerId !== start.pointerId) return;
      if (!dragging && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < TREMBLE) return;
      if (!dragging) {
        dragging = true;
        this.viewport.setPointerCapture(start.pointerId);
        this.viewport.classList.add('dragging');
      }
      this.pan(event.clientX - x, event.clientY - y);
      [x, y] = [event.clientX, event.clientY];
    };
    const end = () => {
      this.viewport.removeEventListener('pointermove', move);
      this.viewport.removeEventListener('pointerup', end);
      this.viewport.removeEventListener('pointercancel', end);
      this.viewport.classList.remove('dragging');
      // What follows a drag is no click.
      if (!dragging) return;
      const swallow = (event: Event) => { event.stopPropagation(); };
      addEventListener('click', swallow, { capture: true });
      setTimeout(() => { removeEventListener('click', swallow, { capture: true }); }, 0);
    };
    this.viewport.addEventListener('pointermove', move);
    this.viewport.addEventListener('pointerup', end);
    this.viewport.addEventListener('pointercancel', end);
  }
}

/** Left, top, right and bottom of all of these boxes together. */
function bounds(boxes: readonly DOMRect[]): [number, number, number, number] {
  const most = (side: 'right' | 'bottom') => Math.max(...boxes.map((box) => box[side]));
  const least = (side: 'left' | 'top') => Math.min(...boxes.map((box) => box[side]));
  return [least('left'), least('top'), most('right'), most('bottom')];
}
