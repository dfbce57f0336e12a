import type { Finding, GraphEdge, GraphNode, NodeRun, Part, Severity } from '../../src/preview/protocol';
import { mark, svg } from './icons';
import type { Picture } from './picture';
import { markPlaces, outline, stack } from './outlines';
import { kindOf } from './ways';
import { badge, detailOf, isLit, type Shown, takenAtTheEnd } from './words';

const ORDER: readonly Severity[] = ['error', 'warning', 'hint'];

/** Pixels: between neighbours, as Mermaid lays them out, and of a letter, about; and letters that are worth showing. */
const GAP = 44;
const LETTER = 6.2;
const FEWEST = 16;

export function worst(findings: readonly Finding[]): Severity | undefined {
  return ORDER.find((severity) => findings.some((finding) => finding.severity === severity));
}

/** What is put on top of the picture: findings, the states of a run, the part where the cursor is. */
export class Marks {
  private picture: Picture | undefined;
  private said = new Map<string, string>();
  private boxes = new WeakMap<SVGGElement, DOMRect>();
  private here: Element | undefined;
  private herePart: Part | undefined;

  /** Bring the marks up to date; only nodes and edges about which something else is to be said are touched. */
  update(picture: Picture, { graph, run, boxes, edges, folds }: Shown): void {
    if (picture !== this.picture) {
      this.picture = picture;
      this.said = new Map();
      this.here = undefined;
    }
    const running = run.size > 0;
    for (const node of graph.nodes) {
      const state = run.get(node.id);
      const severity = worst(node.diagnostics);
      const detail = state === undefined ? '' : detailOf(node, state);
      const count = folds.get(node.id)?.length ?? 0;
      const words = `${severity ?? ''}|${running ? (state?.state ?? 'none') : ''}|${detail}${count === 0 ? '' : `|${count}`}`;
      if (this.changed(`n ${node.id}`, words)) {
        const element = picture.node(node.id);
        if (element !== undefined) this.markNode(element, node, severity, state, running, graph.direction === 'LR' || graph.direction === 'RL');
        if (element !== undefined && count > 0) stack(element);
      }
    }
    const taken = takenAtTheEnd(graph, boxes);
    for (const edge of graph.edges) {
      const severity = worst(edge.diagnostics);
      const lit = isLit(edge, run, boxes);
      const looks: Looks = { lit, stopped: taken.has(edge.id), taken: edges.get(edge.id)?.way === 'taken', left: edges.get(edge.id)?.way === 'left' };
      const words = [severity, kindOf(edge), ...Object.entries(looks).map(([name, on]) => (on ? name : ''))].join(' ').trim();
      if (this.changed(`e ${edge.id}`, words)) {
        const path = picture.edge(edge.id);
        if (path !== undefined) markEdge(path, picture.label(edge.id), edge, severity, looks);
      }
    }
    for (const group of graph.subgraphs) {
      const box = boxes.get(group.id);
      const words = box === undefined ? '' : badge(group, box);
      if (this.changed(`b ${group.id}`, `${words}${box?.stopped === undefined ? '' : '!'}`)) {
        const element = picture.element({ kind: 'subgraph', id: group.id });
        if (element instanceof SVGGElement) this.markBox(element, words, box?.stopped !== undefined);
      }
    }
    if (this.herePart !== undefined && this.here === undefined) this.show(this.herePart);
  }

  /** These nodes look different now, and have lost their marks. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) {
      const element = this.picture?.node(id);
      if (element !== undefined) this.boxes.delete(element);
      this.said.delete(`n ${id}`);
    }
    this.here?.remove();
    this.here = undefined;
  }

  /** Frame the nodes that a search found; `now` is the one that it is at. */
  showFound(ids: readonly string[], now: string | undefined): void {
    for (const old of this.picture?.root.querySelectorAll('.found') ?? []) old.remove();
    for (const id of ids) {
      const element = this.picture?.node(id);
      if (element !== undefined) layer(element).prepend(outline(element, this.box(element), 8, id === now ? 'found now' : 'found'));
    }
  }

  /** Draw a frame around the part where the cursor is; its element. */
  show(part: Part | undefined): Element | undefined {
    this.herePart = part;
    this.here?.remove();
    this.here = undefined;
    const element = part === undefined ? undefined : this.picture?.element(part);
    if (element === undefined) return undefined;
    if (element instanceof SVGPathElement) {
      this.here = svg('path', { d: element.getAttribute('d') ?? '', class: 'here edge-here' });
      element.parentNode?.append(this.here);
    } else if (element instanceof SVGGElement) {
      this.here = outline(element, this.box(element), 5, 'here');
      layer(element).append(this.here);
    }
    return element;
  }

  /** The box of a node without its marks, in its own coordinates. */
  private box(element: SVGGElement): DOMRect {
    let box = this.boxes.get(element);
    if (box === undefined) {
      const [marks, sheets] = [element.querySelector(':scope > .marks'), element.querySelectorAll(':scope > .sheet')];
      marks?.remove();
      for (const sheet of sheets) sheet.remove();
      box = element.getBBox();
      element.prepend(...sheets);
      if (marks !== null) element.append(marks);
      this.boxes.set(element, box);
    }
    return box;
  }

  private changed(key: string, words: string): boolean {
    if ((this.said.get(key) ?? '') === words || (words === '||' && !this.said.has(key))) return false;
    this.said.set(key, words);
    return true;
  }

  /** Say at the lower right corner of a Loop or a Map which turn or item it is at, and frame a Loop that was stopped. */
  private markBox(element: SVGGElement, words: string, stopped: boolean): void {
    const box = this.box(element);
    const marks = layer(element);
    for (const old of marks.querySelectorAll(':scope > .badge, :scope > .stopped')) old.remove();
    if (stopped) marks.append(outline(element, box, 0, 'stopped'));
    if (words === '') return;
    const text = svg('text', { x: box.x + box.width - 6, y: box.y + box.height - 6, class: 'badge' });
    text.textContent = words;
    marks.append(text);
  }

  private markNode(element: SVGGElement, node: GraphNode, severity: Severity | undefined, run: NodeRun | undefined, running: boolean, isSideways: boolean): void {
    const box = this.box(element);
    const places = markPlaces(element, box, isSideways);
    const marks = layer(element);
    for (const old of marks.querySelectorAll(':scope > :not(.here, .found)')) old.remove();
    element.classList.toggle('ghost', run?.state === 'gone');
    element.classList.toggle('dimmed', running && (run === undefined || run.state === 'skipped' || run.state === 'gone'));
    if (run !== undefined) {
      marks.append(outline(element, box, 3, `state ${run.state}`), mark(run.state, 'square', ...places.left));
      const detail = detailOf(node, run);
      if (detail !== '') {
        const text = svg('text', { x: places.words[0], y: places.words[1], class: `detail ${places.anchor}` });
        // No wider than the node and the gap beside it: neighbours have words of their own. The tooltip has all of it.
        const most = Math.max(Math.floor((box.width + GAP) / LETTER), FEWEST);
        text.textContent = detail.length > most ? `${detail.slice(0, most - 1)}…` : detail;
        marks.append(text);
      }
    }
    if (severity !== undefined) marks.append(mark(severity, 'circle', ...places.right));
  }
}

/**
 * Where the marks of a node are: in a group of their own, since a class of the diagram colours all that is in the node itself,
 * and importantly.
 */
function layer(element: SVGGElement): SVGGElement {
  const known = element.querySelector<SVGGElement>(':scope > .marks');
  if (known !== null) return known;
  const made = svg('g', { class: 'marks' });
  element.append(made);
  return made;
}

/** How an edge of a run looks. */
interface Looks {
  readonly lit: boolean;
  readonly stopped: boolean;
  readonly taken: boolean;
  readonly left: boolean;
}

const KINDS = ['yes', 'no', 'over', 'again'] as const;

function markEdge(path: SVGPathElement, label: Element | undefined, edge: GraphEdge, severity: Severity | undefined, looks: Looks): void {
  const { id } = edge;
  const root = path.closest('g.root') ?? path.ownerSVGElement;
  for (const old of root?.querySelectorAll<SVGElement>(':scope > .mark') ?? []) if (old.dataset['about'] === id) old.remove();
  const kind = kindOf(edge);
  for (const part of [path, label]) {
    for (const one of KINDS) part?.classList.toggle(`way-${one}`, one === kind);
    for (const [name, on] of Object.entries(looks) as [string, boolean][]) part?.classList.toggle(name, on);
  }
  if (severity === undefined) return;
  // A third of the way: the label is in the middle.
  const place = path.getPointAtLength(path.getTotalLength() / 3);
  const made = mark(severity, 'circle', place.x, place.y);
  made.dataset['about'] = id;
  root?.append(made);
}
