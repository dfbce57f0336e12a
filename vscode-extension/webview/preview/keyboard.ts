import type { Part } from '../../src/preview/protocol';
import { following } from './finding';
import type { Picture } from './picture';

type Direction = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

export interface KeyActions {
  zoom(factor: number): void;
  actualSize(): void;
  fit(): void;
  types(): void;
  memory(): void;
  folding(): void;
  follow(): void;
  pan(dx: number, dy: number): void;
  /** The node has the focus now. */
  focused(id: string): void;
  /** The edge has the focus now. */
  focusedEdge(id: string): void;
  /** The edges out of a node, in their order, then those into it. */
  edgesOf(id: string): readonly string[];
  /** Enter or space on a node or an edge. */
  chosen(part: Part, open: boolean): void;
  leave(): void;
}

const STEP = 60;

/**
 * The picture by keys: arrows go from node to node, E to the edges of a node one after another and Escape back, Enter to the text, + - 0 1
 * zoom, T shows types, M memory, G draws equal steps as one, R follows the run. One node is in the tab order.
 */
export class Keyboard {
  private picture: Picture | undefined;
  private current: string | undefined;
  /** The edge that has the focus. */
  private edge: string | undefined;

  constructor(
    viewport: HTMLElement,
    private readonly actions: KeyActions,
  ) {
    viewport.addEventListener('keydown', (event) => { this.pressed(event); });
    viewport.addEventListener('focusin', (event) => {
      const edge = event.target instanceof SVGPathElement ? event.target.dataset['id'] : undefined;
      if (edge !== undefined) actions.focusedEdge(edge);
      const id = event.target instanceof Element ? event.target.closest<SVGElement>('g[data-node]')?.dataset['node'] : undefined;
      if (id === undefined) return;
      this.select(id);
      if (event.target instanceof Element && event.target.matches(':focus-visible')) actions.focused(id);
    });
  }

  /** Whether a node has the focus; it loses it when its picture is taken away. */
  get hasFocus(): boolean {
    return document.activeElement instanceof SVGElement && document.activeElement.matches('g[data-node]');
  }

  /** Keys speak of this picture from now on; where a node had the focus, the node of the same name gets it. */
  use(picture: Picture, label: (id: string) => string, had = this.hasFocus): void {
    this.picture = picture;
    this.edge = undefined;
    for (const id of picture.nodeIds) {
      const node = picture.node(id);
      node?.setAttribute('tabindex', '-1');
      node?.setAttribute('role', 'button');
      node?.setAttribute('aria-label', label(id));
    }
    const first = this.current !== undefined && picture.node(this.current) !== undefined ? this.current : [...picture.nodeIds][0];
    this.select(first);
    if (had) this.focus();
  }

  relabel(id: string, label: string): void {
    this.picture?.node(id)?.setAttribute('aria-label', label);
  }

  /** Make a node the one that Tab reaches. */
  select(id: string | undefined): void {
    if (this.current !== undefined) this.picture?.node(this.current)?.setAttribute('tabindex', '-1');
    this.current = id;
    if (id !== undefined) this.picture?.node(id)?.setAttribute('tabindex', '0');
  }

  focus(): void {
    if (this.current !== undefined) this.picture?.node(this.current)?.focus({ preventScroll: true });
  }

  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.target instanceof Element && event.target.closest('g[data-node]') !== null;
    if (!(event.target instanceof SVGPathElement)) this.edge = undefined;
    if (!this.act(event, on)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private act(event: KeyboardEvent, on: boolean): boolean {
    const { actions, current } = this;
    switch (event.key) {
      case '+':
      case '=':
        actions.zoom(1.25);
        return true;
      case '-':
        actions.zoom(1 / 1.25);
        return true;
      case '0':
        actions.fit();
        return true;
      case '1':
        actions.actualSize();
        return true;
      case 't':
      case 'T':
        actions.types();
        return true;
      case 'm':
      case 'M':
        actions.memory();
        return true;
      case 'g':
      case 'G':
        actions.folding();
        return true;
      case 'r':
      case 'R':
        actions.follow();
        return true;
      case 'e':
      case 'E':
        return this.nextEdge(event.shiftKey ? -1 : 1);
      case 'Escape':
        actions.leave();
        if (this.edge !== undefined) this.focus();
        return true;
      case 'Enter':
      case ' ':
        if (this.edge !== undefined) {
          actions.chosen({ kind: 'edge', id: this.edge }, event.key === 'Enter');
          return true;
        }
        if (!on || current === undefined) return false;
        actions.chosen({ kind: 'node', id: current }, event.key === 'Enter');
        return true;
      case 'ArrowUp':
      case 'ArrowDown':
      case 'ArrowLeft':
      case 'ArrowRight':
        if (event.shiftKey) this.pan(event.key);
        else this.move(event.key);
        return true;
      default:
        return false;
    }
  }

  /** The focus goes to the next edge of the current node. */
  private nextEdge(step: 1 | -1): boolean {
    const { current, picture } = this;
    const ids = current === undefined ? [] : this.actions.edgesOf(current).filter((id) => picture?.edge(id) !== undefined);
    const id = following(ids, this.edge, step);
    const path = id === undefined ? undefined : picture?.edge(id);
    if (path === undefined) return false;
    path.setAttribute('tabindex', '-1');
    path.setAttribute('role', 'button');
    path.focus({ preventScroll: true });
    this.edge = id;
    return true;
  }

  private pan(key: Direction): void {
    const [dx, dy] = { ArrowUp: [0, STEP], ArrowDown: [0, -STEP], ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0] }[key] as [number, number];
    this.actions.pan(dx, dy);
  }

  /** The focus goes to the nearest node in a direction. */
  private move(key: Direction): void {
    const picture = this.picture;
    const from = this.current === undefined ? undefined : picture?.node(this.current);
    if (picture === undefined || from === undefined) return;
    if (!from.contains(document.activeElement)) {
      this.focus();
      return;
    }
    const start = middle(from);
    const [along, sign] = key === 'ArrowUp' || key === 'ArrowDown' ? [1, key === 'ArrowDown' ? 1 : -1] : [0, key === 'ArrowRight' ? 1 : -1];
    let [best, least]: [string | undefined, number] = [undefined, Infinity];
    for (const id of picture.nodeIds) {
      const node = picture.node(id);
      if (node === undefined || node === from) continue;
      const place = middle(node);
      const ahead = ((place[along as 0 | 1]) - start[along as 0 | 1]) * (sign);
      const aside = Math.abs(place[along === 1 ? 0 : 1] - start[along === 1 ? 0 : 1]);
      if (ahead <= 1) continue;
      const cost = ahead + 2 * aside;
      if (cost < least) [best, least] = [id, cost];
    }
    if (best === undefined) return;
    this.select(best);
    this.focus();
  }
}

function middle(node: Element): [number, number] {
  const box = node.getBoundingClientRect();
  return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
}
