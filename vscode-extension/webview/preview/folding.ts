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

/** Equal branches: for each step of one the steps at its place in all of them, the first branch first. */
export type Branches = readonly (readonly string[])[];

/**
 * The branches that are equal, at least `FEWEST` each, in the order of the text; most have one step. Their steps have the same operator,
 * prompt and settings (`doing`), are in the same subgraph, and are fed by and feed the same nodes, by whatever ports.
 */
export function equalBranches({ nodes, edges }: Pick<Graph, 'nodes' | 'edges'>): readonly Branches[] {
  const around = new Map<string, GraphEdge[]>(nodes.map(({ id }) => [id, []]));
  for (const one of edges) for (const id of new Set([one.source, one.target])) around.get(id)?.push(one);
  const steps = new Map(nodes.flatMap((one): [string, GraphNode][] => (one.doing === undefined || one.doing === null ? [] : [[one.id, one]])));
  const next = followers(steps, around);
  const inside = new Set(next.values());
  const found = new Map<string, string[][]>();
  for (const [id, { subgraph }] of steps) {
    if (inside.has(id)) continue;
    const branch = [id];
    for (let step = next.get(id); step !== undefined; step = next.get(step)) branch.push(step);
    const key = JSON.stringify([subgraph ?? null, branch.map((step) => [steps.get(step)?.doing, [...new Set(around.get(step)?.map((one) => ends(one, step, branch)))].sort()])]);
    const known = found.get(key);
    if (known === undefined) found.set(key, [branch]);
    else known.push(branch);
  }
  return [...found.values()].filter((equal) => equal.length >= FEWEST).map(([first = [], ...others]) => first.map((id, place) => [id, ...others.flatMap((branch) => branch[place] ?? [])]));
}

/** The step that follows on a step, where it feeds nothing else and nothing else feeds that one. */
function followers(steps: ReadonlyMap<string, GraphNode>, around: ReadonlyMap<string, readonly GraphEdge[]>): ReadonlyMap<string, string> {
  const only = (id: string, from: 'source' | 'target', to: 'source' | 'target') => {
    const others = new Set(around.get(id)?.filter((one) => one[from] === id && one[to] !== id).map((one) => one[to]));
    return others.size === 1 ? [...others][0] : undefined;
  };
  return new Map([...steps].flatMap(([id, { subgraph }]): [string, string][] => {
    const other = only(id, 'source', 'target');
    const step = other === undefined ? undefined : steps.get(other);
    return step !== undefined && step.subgraph === subgraph && only(step.id, 'target', 'source') === id ? [[id, step.id]] : [];
  }));
}

/** An edge at a step of a branch, without its ports: a step of the same branch is named by its place. */
function ends({ source, target, case: chosen, word, drawn }: GraphEdge, own: string, branch: readonly string[]): string {
  const other = source === own ? target : source;
  const place = branch.indexOf(other);
  return JSON.stringify([source === own ? 'to' : 'from', place < 0 ? other : place, chosen, word, drawn]);
}

/** The graph with equal branches drawn as one each, but for those of which a step of the first one is in `open`. */
export function folded(graph: Graph, open: ReadonlySet<string>): Folded {
  const closed = equalBranches(graph).filter((branches) => !branches.some(([first = '']) => open.has(first)));
  const folds = new Map(closed.flatMap((branches) => branches.map((group): [string, readonly string[]] => [group[0] ?? '', group])));
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
