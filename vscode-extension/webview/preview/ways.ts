/** Which edges a run took, and what passed along them. Pure. */
import type { BoxRun, Graph, GraphEdge, NodeRun, RunState } from '../../src/preview/protocol';
import { takenAtTheEnd } from './words';

/** `taken`: something passed along it; `left`: nothing did, and nothing will. */
export type Way = 'taken' | 'left';

export interface EdgeRun {
  readonly way: Way;
  /** The beginning of what passed last, and in how many turns and items something did. */
  readonly value: string | undefined;
  readonly times: number;
}

const GAVE: ReadonlySet<RunState> = new Set(['finished', 'reused', 'kept', 'stale']);
/** Nothing comes from a node that ends so. */
const NOTHING: ReadonlySet<RunState> = new Set(['skipped', 'failed', 'cancelled', 'gone']);

/** The edges of which it is known, by id. Those of what waits or runs are not among them. */
export function edgeRuns(graph: Pick<Graph, 'edges'>, run: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>, isOver: boolean): ReadonlyMap<string, EdgeRun> {
  if (run.size === 0) return new Map();
  const exhausted = takenAtTheEnd(graph, boxes);
  return new Map(graph.edges.flatMap((edge): [string, EdgeRun][] => {
    if (!edge.drawn) return [];
    const way = wayOf(edge, run, boxes, exhausted, isOver);
    if (way === undefined) return [];
    const source = run.get(edge.source);
    return [[edge.id, { way, value: way === 'taken' ? valueOf(edge, source, graph, run) : undefined, times: way === 'taken' ? timesOf(edge, source) : 0 }]];
  }));
}

function wayOf(edge: GraphEdge, run: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>, exhausted: ReadonlySet<string>, isOver: boolean): Way | undefined {
  const source = run.get(edge.source);
  // A run that was begun elsewhere has no nodes that wait.
  if (source === undefined) return isOver ? 'left' : undefined;
  const isGoingOn = [edge.box, ...(edge.left ?? [])].some((box) => box !== null && boxes.get(box)?.running === true);
  const unless = (taken: boolean) => (taken ? 'taken' : isGoingOn ? undefined : 'left');
  if (exhausted.has(edge.id)) return 'taken';
  const begun = edge.word === 'again' && edge.box !== null ? (boxes.get(edge.box)?.begun ?? 0) : 0;
  if (edge.word === 'again') return unless(begun > 1 && (edge.case === null || chose(source, edge.case)));
  if (!GAVE.has(source.state)) {
    // In a turn before it may have given something.
    if (edge.case !== null && chose(source, edge.case)) return 'taken';
    return NOTHING.has(source.state) ? unless(false) : undefined;
  }
  if (edge.word === 'over') return unless(false);
  if (edge.case !== null) return unless(chose(source, edge.case));
  if ((edge.left ?? []).some((box) => boxes.get(box)?.running === true)) return undefined;
  if (run.get(edge.target)?.state === 'skipped') return unless(false);
  return 'taken';
}

function chose({ case: last, cases = {} }: NodeRun, wanted: string): boolean {
  const same = (one: string) => one.trim().toLowerCase() === wanted.trim().toLowerCase();
  return Object.keys(cases).some(same) || (last !== undefined && same(last));
}

function timesOf({ case: wanted }: GraphEdge, source: NodeRun | undefined): number {
  if (wanted === null) return source?.times ?? 0;
  const found = Object.entries(source?.cases ?? {}).find(([one]) => one.trim().toLowerCase() === wanted.trim().toLowerCase());
  return found?.[1] ?? 0;
}

function valueOf(edge: GraphEdge, source: NodeRun | undefined, graph: Pick<Graph, 'edges'>, run: ReadonlyMap<string, NodeRun>): string | undefined {
  const { output, source: id, port } = edge;
  // A Decision passes on what came to its port `value`; `after` is passed nothing.
  if (edge.case !== null) {
    const given = port === 'after' ? undefined : graph.edges.findLast((one) => one.target === id && one.port === 'value' && GAVE.has(run.get(one.source)?.state ?? 'waiting'));
    return given?.case !== null ? undefined : valueOf(given, run.get(given.source), graph, run);
  }
  const values = source?.values;
  if (values === undefined) return undefined;
  if (output !== null && Object.hasOwn(values, output)) return values[output];
  const all = Object.values(values);
  return all.length === 1 ? all[0] : undefined;
}

/** What a picture tells the two answers of a Decision, and the words of Loops, apart by. */
export function kindOf({ case: chosen, word }: Pick<GraphEdge, 'case' | 'word'>): 'yes' | 'no' | 'over' | 'again' | undefined {
  if (word === 'over' || word === 'again') return word;
  const said = chosen?.trim().toLowerCase();
  if (said === 'yes' || said === 'true' || said === 'approved') return 'yes';
  return said === 'no' || said === 'false' || said === 'rejected' ? 'no' : undefined;
}

/** What is said of edges that are drawn as one: what passed along any of them. */
export function joined(runs: readonly EdgeRun[]): EdgeRun | undefined {
  const taken = runs.filter(({ way }) => way === 'taken');
  const last = taken.at(-1);
  if (last === undefined) return runs[0];
  return { way: 'taken', value: taken.findLast(({ value }) => value !== undefined)?.value, times: taken.reduce((sum, { times }) => sum + Math.max(times, 1), 0) };
}
