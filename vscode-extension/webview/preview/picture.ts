import { type Change, type Drawing, STAND_IN } from '../drawing/protocol';
import type { Part } from '../../src/preview/protocol';

/** Milliseconds of work after which a large picture lets others have their turn. */
const TURN = 6;

/** The picture that is shown: the elements that stand for each part of the diagram. */
export class Picture {
  private readonly nodes = new Map<string, SVGGElement>();
  private readonly edges = new Map<string, SVGPathElement>();
  private readonly groups = new Map<string, SVGGElement>();
  private readonly labels = new Map<string, Element>();

  private constructor(
    /** By which the drawing frame knows it. */
    public number: number,
    readonly root: HTMLElement,
    readonly width: number,
    readonly height: number,
  ) {
    withoutLinks(root);
    for (const node of root.querySelectorAll<SVGGElement>('g[data-node]')) {
      const id = node.dataset['node'] ?? '';
      this.nodes.set(id, node);
      // What the editor's context menu hands to its commands.
      node.dataset['vscodeContext'] = JSON.stringify({ webviewSection: 'node', node: id, preventDefaultContextMenuItems: true });
    }
    for (const path of root.querySelectorAll<SVGPathElement>('path[data-edge="true"]')) this.edges.set(path.dataset['id'] ?? '', path);
    for (const group of root.querySelectorAll<SVGGElement>('g.cluster[data-id]:not([data-above])')) this.groups.set(group.dataset['id'] ?? '', group);
    for (const label of root.querySelectorAll<SVGGElement>('g.edgeLabel g.label[data-id]')) this.labels.set(label.dataset['id'] ?? '', label);
  }

  /**
   * Build the picture, unseen, in `world`, piece by piece, so that typing goes on meanwhile; undefined when `wanted` says that
   * it is out of date.
   */
  static async build(drawing: Drawing, world: HTMLElement, wanted: () => boolean): Promise<Picture | undefined> {
    const root = document.createElement('div');
    root.className = 'picture building';
    root.innerHTML = drawing.frame;
    const svg = root.querySelector('svg');
    svg?.setAttribute('width', String(drawing.width));
    svg?.setAttribute('height', String(drawing.height));
    svg?.removeAttribute('role');
    svg?.removeAttribute('aria-roledescription');
    world.append(root);
    const slots = new Map([...root.querySelectorAll('[data-slot]')].map((slot) => [Number(slot.getAttribute('data-slot')), slot]));
    let since = performance.now();
    for (const { slot, svg: piece } of drawing.parts) {
      slots.get(slot)?.insertAdjacentHTML('beforeend', piece);
      if (performance.now() - since > TURN) {
        await turn();
        if (!wanted()) {
          root.remove();
          return undefined;
        }
        since = performance.now();
      }
    }
    return new Picture(drawing.number, root, drawing.width, drawing.height);
  }

  /** Take the place of the picture that was shown before. */
  show(before: Picture | undefined): void {
    before?.root.remove();
    this.root.classList.remove('building');
  }

  /** Exchange what has changed, each node in its place. The elements of nodes stay, with what is known of them, but for their content. */
  apply({ number, nodes, style }: Change): void {
    this.number = number;
    const picture = this.root.querySelector('svg');
    const sheet = picture?.querySelector('style');
    if (sheet) sheet.textContent = style.replaceAll(STAND_IN, picture?.id ?? '');
    for (const { id, svg } of nodes) {
      const old = this.nodes.get(id);
      const host = document.createElement('div');
      host.innerHTML = `<svg>${svg}</svg>`;
      withoutLinks(host);
      const now = host.querySelector('g[data-node]');
      if (old === undefined || now === null) continue;
      old.replaceChildren(...now.childNodes);
      for (const name of ['class', 'style']) {
        const value = now.getAttribute(name);
        if (value === null) old.removeAttribute(name);
        else old.setAttribute(name, value);
      }
    }
  }

  /** Where the nodes are, in the picture's own pixels. */
  places(): Map<string, { readonly x: number; readonly y: number; readonly width: number; readonly height: number }> {
    const all = this.root.getBoundingClientRect();
    const scale = all.width / this.width || 1;
    return new Map([...this.nodes].map(([id, node]) => {
      const { left, top, width, height } = node.getBoundingClientRect();
      return [id, { x: (left - all.left) / scale, y: (top - all.top) / scale, width: width / scale, height: height / scale }];
    }));
  }

  get size(): number {
    return this.nodes.size;
  }

  get nodeIds(): Iterable<string> {
    return this.nodes.keys();
  }

  node(id: string): SVGGElement | undefined {
    return this.nodes.get(id) ?? this.groups.get(id);
  }

  /** Where a node is on the screen, without the marks on it, which come and go. */
  place(id: string): { readonly left: number; readonly top: number } | undefined {
    const parts = [...(this.node(id)?.children ?? [])].filter((part) => !part.matches('.marks')).map((part) => part.getBoundingClientRect());
    const seen = parts.filter(({ width, height }) => width > 0 || height > 0);
    return seen.length === 0 ? undefined : { left: Math.min(...seen.map(({ left }) => left)), top: Math.min(...seen.map(({ top }) => top)) };
  }

  get edgeIds(): Iterable<string> {
    return this.edges.keys();
  }

  /** What is written on an edge. */
  label(id: string): Element | undefined {
    return this.labels.get(id);
  }

  edge(id: string): SVGPathElement | undefined {
    return this.edges.get(id);
  }

  element(part: Part): SVGGraphicsElement | undefined {
    if (part.kind === 'edge') return this.edges.get(part.id);
    return part.kind === 'node' ? this.node(part.id) : this.groups.get(part.id);
  }

  /** The part of the diagram that an element of the picture belongs to. */
  partAt(target: EventTarget | null): Part | undefined {
    if (!(target instanceof Element)) return undefined;
    const found = target.closest<SVGElement>('g[data-node], path[data-edge="true"], [data-about], g.cluster[data-id], g.edgeLabel');
    if (found === null) return undefined;
    if (found.dataset['about'] !== undefined) return { kind: 'edge', id: found.dataset['about'] };
    if (found.matches('g[data-node]')) return { kind: 'node', id: found.dataset['node'] ?? '' };
    if (found.matches('path')) return { kind: 'edge', id: found.dataset['id'] ?? '' };
    if (found.matches('g.cluster')) return { kind: 'subgraph', id: found.dataset['id'] ?? '' };
    const id = found.querySelector<SVGElement>('g.label[data-id]')?.dataset['id'];
    return id === undefined ? undefined : { kind: 'edge', id };
  }

  /** The node in sight that is nearest to a point of the screen. */
  nearest(x: number, y: number, within: DOMRect): string | undefined {
    let [best, distance]: [string | undefined, number] = [undefined, Infinity];
    for (const [id, element] of this.nodes) {
      const box = element.getBoundingClientRect();
      if (box.right < within.left || box.left > within.right || box.bottom < within.top || box.top > within.bottom) continue;
      const away = Math.hypot((box.left + box.right) / 2 - x, (box.top + box.bottom) / 2 - y);
      if (away < distance) [best, distance] = [id, away];
    }
    return best;
  }
}

/** A click on a node chooses it; the editor would follow a link whatever the page does with the click. */
function withoutLinks(root: Element): void {
  for (const link of root.querySelectorAll('a, area')) for (const name of ['href', 'xlink:href', 'target']) link.removeAttribute(name);
}

/** The next frame, or soon where no frames are drawn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, 60);
    requestAnimationFrame(() => {
      clearTimeout(late);
      setTimeout(resolve, 0);
    });
  });
}
