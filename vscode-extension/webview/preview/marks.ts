import type { BoxRun, Finding, Graph, NodeRun, Part, Severity } from '../../src/preview/protocol';
import { mark, svg } from './icons';
import type { Picture } from './picture';
import { badge, isLit, takenAtTheEnd } from './words';

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
  update(picture: Picture, graph: Graph, run: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>): void {
    if (picture !== this.picture) {
      this.picture = picture;
      this.said = new Map();
      this.here = undefined;
    }
    const running = run.size > 0;
    for (const node of graph.nodes) {
      const state = run.get(node.id);
      const severity = worst(node.diagnostics);
      const words = `${severity ?? ''}|${running ? (state?.state ?? 'none') : ''}|${state?.detail ?? ''}`;
      if (this.changed(`n ${node.id}`, words)) {
        const element = picture.node(node.id);
        if (element !== undefined) this.markNode(element, severity, state, running);
      }
    }
    const taken = takenAtTheEnd(graph, boxes);
    for (const edge of graph.edges) {
      const severity = worst(edge.diagnostics);
      const lit = isLit(edge, run, boxes);
      const stopped = taken.has(edge.id);
      if (this.changed(`e ${edge.id}`, `${severity ?? ''}${lit ? ' lit' : ''}${stopped ? ' stopped' : ''}`)) {
        const path = picture.edge(edge.id);
        if (path !== undefined) markEdge(path, edge.id, severity, lit, stopped);
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
      if (element !== undefined) layer(element).prepend(frame(this.box(element), 8, id === now ? 'found now' : 'found'));
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
      this.here = frame(this.box(element), 5, 'here');
      layer(element).append(this.here);
    }
    return element;
  }

  /** The box of a node without its marks, in its own coordinates. */
  private box(element: SVGGElement): DOMRect {
    let box = this.boxes.get(element);
    if (box === undefined) {
      const marks = element.querySelector(':scope > .marks');
      marks?.remove();
      box = element.getBBox();
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
    if (stopped) marks.append(frame(box, 0, 'stopped'));
    if (words === '') return;
    const text = svg('text', { x: box.x + box.width - 6, y: box.y + box.height - 6, class: 'badge' });
    text.textContent = words;
    marks.append(text);
  }

  private markNode(element: SVGGElement, severity: Severity | undefined, run: NodeRun | undefined, running: boolean): void {
    const box = this.box(element);
    const marks = layer(element);
    for (const old of marks.querySelectorAll(':scope > :not(.here, .found)')) old.remove();
    element.classList.toggle('ghost', run?.state === 'gone');
    element.classList.toggle('dimmed', running && (run === undefined || run.state === 'skipped' || run.state === 'gone'));
    if (run !== undefined) {
      marks.append(frame(box, 3, `state ${run.state}`), mark(run.state, 'square', box.x, box.y));
      if (run.detail !== undefined && run.detail !== '') {
        const text = svg('text', { x: box.x + box.width / 2, y: box.y + box.height + 15, class: 'detail' });
        // No wider than the node and the gap beside it: neighbours have words of their own. The tooltip has all of it.
        const most = Math.max(Math.floor((box.width + GAP) / LETTER), FEWEST);
        text.textContent = run.detail.length > most ? `${run.detail.slice(0, most - 1)}…` : run.detail;
        marks.append(text);
      }
    }
    if (severity !== undefined) marks.append(mark(severity, 'circle', box.x + box.width, box.y));
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

function frame(box: DOMRect, room: number, kind: string): SVGRectElement {
  const place = { x: box.x - room, y: box.y - room, width: box.width + 2 * room, height: box.height + 2 * room };
  return svg('rect', { ...place, rx: 6, class: kind });
}

function markEdge(path: SVGPathElement, id: string, severity: Severity | undefined, lit: boolean, stopped: boolean): void {
  const root = path.closest('g.root') ?? path.ownerSVGElement;
  for (const old of root?.querySelectorAll<SVGElement>(':scope > .mark') ?? []) if (old.dataset['about'] === id) old.remove();
  path.classList.toggle('lit', lit);
  path.classList.toggle('stopped', stopped);
  if (severity === undefined) return;
  // A third of the way: the label is in the middle.
  const place = path.getPointAtLength(path.getTotalLength() / 3);
  const made = mark(severity, 'circle', place.x, place.y);
  made.dataset['about'] = id;
  root?.append(made);
}
