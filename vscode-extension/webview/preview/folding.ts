/** Equal steps side by side, drawn as one. Pure. */
import type { Graph, GraphEdge, GraphNode, NodeRun, RunState } from '../../src/preview/protocol';

/** Equal steps from which on they are drawn as one. */
export const FEWEST = 3;

/** A graph in which each group of equal steps is one of them. */
export interface Folded {
  readonly graph: Graph;
  /** All steps of a group by the one that is drawn, which is the first. */
  readonly folds: ReadonlyMap<string, readonly string[]>;
  /** What is drawn for a node, and for an edge, that is not drawn itself. */
  readonly node: ReadonlyMap<string, string>;
  readonly edge: ReadonlyMap<string, string>;
}

/**
 * The groups of equal steps, at least `FEWEST` each, in the order of the text: the same operator, prompt and settings (`doing`) in the
 * same subgraph, fed by and feeding the same nodes, by whatever ports.
 */
export function equalSteps({ nodes, edges }: Pick<Graph, 'nodes' | 'edges'>): readonly (readonly string[])[] {
  const around = new Map<string, string[]>();
  const beside = (id: string, word: string) => {
    const known = around.get(id);
    if (known === undefined) around.set(id, [word]);
    else known.push(word);
  };
  for (const edge of edges) {
    beside(edge.source, end('to', edge.source, edge.target, edge));
    beside(edge.target, end('from', edge.target, edge.source, edge));
  }
  const groups = new Map<string, string[]>();
  for (const { id, doing, subgraph } of nodes) {
    if (doing === undefined || doing === null) continue;
    const key = JSON.stringify([doing, subgraph ?? null, [...new Set(around.get(id))].sort()]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [id]);
    else known.push(id);
  }
  return [...groups.values()].filter((group) => group.length >= FEWEST);
}

/** An edge at one of its ends, without its ports. */
function end(way: 'to' | 'from', own: string, other: string, { case: chosen, word, drawn }: GraphEdge): string {
  return JSON.stringify([way, other === own ? null : other, chosen, word, drawn]);
}

/** The graph with its equal steps drawn as one each, but for the groups whose first step is in `open`. */
export function folded(graph: Graph, open: ReadonlySet<string>): Folded {
  const folds = new Map(equalSteps(graph).flatMap((group): [string, readonly string[]][] => (group[0] === undefined || open.has(group[0]) ? [] : [[group[0], group]])));
  if (folds.size === 0) return { graph, folds, node: new Map(), edge: new Map() };
  const node = new Map([...folds].flatMap(([first, group]) => group.slice(1).map((id): [string, string] => [id, first])));
  const drawn = (id: string) => node.get(id) ?? id;
  const place = (one: GraphEdge) => JSON.stringify([drawn(one.source), drawn(one.target), one.case, one.word, one.drawn]);
  const kept = new Map<string, GraphEdge>();
  for (const one of graph.edges) {
    // A group's own edges come from and go to the first of it.
    if (!node.has(one.source) && !node.has(one.target) && !kept.has(place(one))) kept.set(place(one), one);
  }
  const edge = new Map<string, string>();
  const found = new Map<string, GraphNode['diagnostics'][number][]>();
  const say = (id: string, more: GraphNode['diagnostics']) => { if (more.length > 0) found.set(id, [...(found.get(id) ?? []), ...more]); };
  for (const one of graph.edges) {
    if (!node.has(one.source) && !node.has(one.target)) continue;
    const other = kept.get(place(one));
    if (other !== undefined) edge.set(one.id, other.id);
    say(drawn(node.has(one.source) ? one.source : one.target), one.diagnostics);
  }
  for (const one of graph.nodes) if (node.has(one.id)) say(drawn(one.id), one.diagnostics);
  const nodes = graph.nodes.filter(({ id }) => !node.has(id)).map((one) => {
    const more = found.get(one.id);
    const remembers = one.remembers === undefined ? {} : { remembers: [...new Set(one.remembers.map(drawn))] };
    return { ...one, ...remembers, diagnostics: [...one.diagnostics, ...(more ?? [])] };
  });
  return { graph: { ...graph, nodes, edges: graph.edges.filter(({ source, target }) => !node.has(source) && !node.has(target)) }, folds, node, edge };
}

/** What a group is as a whole: what is most worth knowing of any of its steps. */
const FIRST: readonly RunState[] = ['asking', 'running', 'failed', 'cancelled', 'stale', 'waiting', 'reset', 'new', 'finished', 'kept', 'reused', 'skipped', 'gone'];
const DONE: ReadonlySet<RunState> = new Set(['finished', 'reused', 'kept', 'stale', 'skipped', 'failed', 'gone']);

/** A run on the folded graph: each group with its progress, "7/24", and how many of it failed. */
export function foldedRun(run: ReadonlyMap<string, NodeRun>, { folds, node }: Pick<Folded, 'folds' | 'node'>): ReadonlyMap<string, NodeRun> {
  if (folds.size === 0) return run;
  const shown = new Map([...run].filter(([id]) => !node.has(id)));
  for (const [first, group] of folds) {
    const own = group.flatMap((id) => run.get(id) ?? []);
    if (own.length > 0) shown.set(first, together(own, group.length));
  }
  return shown;
}

function together(own: readonly NodeRun[], of: number): NodeRun {
  const seen = new Set(own.map(({ state }) => state));
  const begun = own.some(({ state }) => DONE.has(state)) && own.some(({ state }) => state === 'waiting');
  const state = FIRST.find((one) => seen.has(one)) ?? 'waiting';
  const done = own.filter((one) => DONE.has(one.state)).length;
  const failed = own.filter((one) => one.state === 'failed').length;
  const detail = `${done}/${of}${failed === 0 ? '' : ` · ${failed} failed`}`;
  const [first] = own;
  // Between two of its steps it still runs.
  return { ...(own.length === 1 ? first : {}), state: state === 'failed' && seen.has('waiting') ? 'running' : begun && state === 'waiting' ? 'running' : state, detail };
}

/** The title of a group: that of its first step, without the number that tells it from others where they differ. */
export function groupTitle(titles: readonly string[]): string {
  const [first = ''] = titles;
  if (titles.every((title) => title === first)) return first;
  return first.replace(/[\s_-]*\d+\s*$/, '') || first;
}
