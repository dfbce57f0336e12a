/**
 * What a picture was made of, so that an edit which changes no more than how some nodes look need not lay out everything again.
 */
import { type Change, STAND_IN } from '../drawing/protocol';
import { NODES } from './pieces';

/** What Mermaid hands to a layout. */
export interface LaidOut {
  readonly nodes: readonly LaidOutNode[];
  readonly edges: readonly { readonly id: string; readonly start?: string; readonly end?: string; label?: string }[];
  readonly diagramId?: string;
}

interface LaidOutNode {
  readonly id: string;
  readonly domId?: string;
  readonly parentId?: string | undefined;
  readonly isGroup: boolean;
  label?: string;
  cssStyles?: string[];
  readonly cssCompiledStyles?: readonly string[];
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pixels by which the size of a node may differ from drawing to drawing. */
const TREMBLE = 0.6;

/** More has changed than nodes can be exchanged for. */
export class Different extends Error {}

export class Shown {
  number = -1;
  /** All but how the nodes look, as text. */
  private readonly around: string;
  /** How each node looks, as text. */
  private nodes: ReadonlyMap<string, string>;
  private readonly sizes = new Map<string, Size>();
  /** The nodes that are of another size than they were laid out for. */
  private readonly misfits = new Set<string>();
  private title = '';

  /** `besides`: what else a picture depends on. */
  constructor(data: LaidOut, besides: string) {
    // Mermaid's ids begin with that of the picture, or count how often a node was named.
    const plain = (key: string, value: unknown) => (key === 'domId' || key === 'diagramId' ? undefined : value);
    const looks = data.nodes.filter(({ isGroup }) => !isGroup);
    this.nodes = new Map(looks.map((node) => [node.id, JSON.stringify(node, plain)]));
    const groups = data.nodes.filter(({ isGroup }) => isGroup);
    this.around = JSON.stringify([besides, { ...data, nodes: groups }, looks.map(({ id, parentId }) => [id, parentId])], plain);
  }

  /** Keep the sizes of the nodes of a whole picture. */
  measure(picture: SVGSVGElement, number: number): void {
    this.number = number;
    this.title = titleOf(picture);
    for (const [id, size] of sizes(picture)) this.sizes.set(id, size);
  }

  /** Of `data`, of which `next` is made, only the nodes that look different here; throws `Different` where that is not all. */
  reduced(data: LaidOut, next: Shown | undefined): LaidOut {
    if (next?.around !== this.around) throw new Different();
    const changed = data.nodes.filter(({ id, isGroup }) => !isGroup && next.nodes.get(id) !== this.nodes.get(id));
    return { ...data, nodes: changed.map((node) => ({ ...node, parentId: undefined })), edges: [] };
  }

  /** What a picture of the changed nodes changes here, which is then part of this; undefined where that is not all. */
  take(next: Shown, picture: SVGSVGElement, number: number): Change | undefined {
    if (titleOf(picture) !== this.title) return undefined;
    const now = [...sizes(picture)];
    if (now.some(([id]) => !this.sizes.has(id))) return undefined;
    for (const [id, { width, height }] of now) {
      const before = this.sizes.get(id) ?? { width, height };
      if (Math.abs(before.width - width) > TREMBLE || Math.abs(before.height - height) > TREMBLE) this.misfits.add(id);
      else this.misfits.delete(id);
    }
    this.nodes = next.nodes;
    this.number = number;
    const nodes = [...picture.querySelectorAll<SVGGElement>(NODES)].map((node) => ({ id: node.dataset['node'] ?? '', svg: node.outerHTML }));
    return { number, nodes, style: picture.querySelector('style')?.textContent.replaceAll(picture.id, STAND_IN) ?? '', sameSizes: this.misfits.size === 0 };
  }
}

function titleOf(picture: SVGSVGElement): string {
  return picture.querySelector('.flowchartTitleText')?.textContent ?? '';
}

function* sizes(picture: SVGSVGElement): Iterable<[string, Size]> {
  for (const node of picture.querySelectorAll<SVGGElement>(NODES)) yield [node.dataset['node'] ?? '', node.getBBox()];
}
