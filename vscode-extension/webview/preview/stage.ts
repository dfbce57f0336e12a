/** The viewport over the picture: where it is, how large, and how both are changed by pointer, wheel and keys. */

export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
  /** Whether the picture is kept as large as the viewport allows. */
  readonly fitted: boolean;
}

const SMALLEST = 0.02;
const LARGEST = 8;
const MARGIN = 24;
/** Pixels that a pointer may tremble during a click. */
const TREMBLE = 4;

export class Stage {
  private view: View = { scale: 1, x: 0, y: 0, fitted: true };
  private width = 0;
  private height = 0;

  constructor(
    readonly viewport: HTMLElement,
    private readonly world: HTMLElement,
    private readonly changed: (view: View) => void,
    /** Pixels at the top that something else covers. */
    private readonly covered = 0,
  ) {
    viewport.addEventListener('wheel', (event) => { this.wheel(event); }, { passive: false });
    viewport.addEventListener('pointerdown', (event) => { this.drag(event); });
    new ResizeObserver(() => {
      if (this.view.fitted) this.fit();
    }).observe(viewport);
  }

  get scale(): number {
    return this.view.scale;
  }

  get fitted(): boolean {
    return this.view.fitted;
  }

  /** Take over a kept view. */
  restore(view: View): void {
    this.set(view);
  }

  /** The picture's own size in pixels. */
  resize(width: number, height: number): void {
    [this.width, this.height] = [width, height];
    if (this.view.fitted) this.fit();
  }

  /** All of the picture, not enlarged. */
  fit(): void {
    const { clientWidth, clientHeight } = this.viewport;
    if (clientWidth === 0 || this.width === 0) return;
    // In a viewport that is hardly higher than what covers it, a covered picture is better than a tiny one.
    const above = Math.max(MARGIN, Math.min(this.covered, clientHeight / 5));
    const room = Math.min((clientWidth - 2 * MARGIN) / this.width, (clientHeight - above - MARGIN) / this.height, 1);
    const scale = Math.max(room, SMALLEST);
    const x = (clientWidth - this.width * scale) / 2;
    const y = Math.max((clientHeight - this.height * scale) / 2, Math.min(above, clientHeight / 5));
    this.set({ scale, x, y, fitted: true });
  }

  /** Enlarge `factor` times around a point of the viewport, by default its middle. */
  zoom(factor: number, x = this.viewport.clientWidth / 2, y = this.viewport.clientHeight / 2): void {
    const scale = Math.min(Math.max(this.view.scale * factor, SMALLEST), LARGEST);
    const share = scale / this.view.scale;
    this.set({ scale, x: x - (x - this.view.x) * share, y: y - (y - this.view.y) * share, fitted: false });
  }

  pan(dx: number, dy: number): void {
    if (dx === 0 && dy === 0) return;
    this.set({ ...this.view, x: this.view.x + dx, y: this.view.y + dy, fitted: false });
  }

  /** Move the picture as little as shows all of an element, given as it is on the screen; nothing where it is shown. */
  reveal(element: Element): void {
    const port = this.viewport.getBoundingClientRect();
    const box = element.getBoundingClientRect();
    if (box.width === 0 && box.height === 0) return;
    const move = (low: number, high: number, from: number, to: number) => {
      if (low >= from + MARGIN && high <= to - MARGIN) return 0;
      if (high - low > to - from - 2 * MARGIN || low < from || high > to) return (from + to - low - high) / 2;
      return low < from + MARGIN ? from + MARGIN - low : to - MARGIN - high;
    };
    this.pan(move(box.left, box.right, port.left, port.right), move(box.top, box.bottom, port.top, port.bottom));
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
