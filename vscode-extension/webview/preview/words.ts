/** Sentences about parts of the picture, for tooltips and for those who listen. */
import { escaped, idCaption, plain } from '../drawing/captions';
import { stoppedText } from '../../src/run/texts/loops';
import type { BoxRun, Finding, Graph, GraphEdge, GraphNode, GraphSubgraph, NodeRun, Part } from '../../src/preview/protocol';

export const STATES: Readonly<Record<NodeRun['state'], string>> = {
  waiting: 'waiting',
  running: 'running',
  asking: 'asking a person',
  finished: 'finished',
  reused: 'reused',
  skipped: 'skipped',
  failed: 'failed',
  cancelled: 'stopped',
  stale: 'out of date',
  kept: 'kept',
  reset: 'made again',
  new: 'new',
  gone: 'gone',
};

/** Names in one line of a tooltip. */
const MOST_NAMED = 8;

export interface About {
  readonly title: string;
  readonly lines: readonly string[];
  readonly findings: readonly Finding[];
  readonly run: NodeRun | undefined;
}

export function about(part: Part, graph: Graph, run: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>): About | undefined {
  if (part.kind === 'edge') {
    const edge = graph.edges.find(({ id }) => id === part.id);
    return edge === undefined
      ? undefined
      : { title: `${edge.source} → ${edge.target}`, lines: flow(edge), findings: edge.diagnostics, run: undefined };
  }
  const node = graph.nodes.find(({ id }) => id === part.id);
  if (node === undefined || part.kind === 'subgraph') {
    const group = graph.subgraphs.find(({ id }) => id === part.id);
    if (group === undefined) return undefined;
    const box = boxes.get(group.id);
    const stopped = box?.stopped === undefined ? [] : [stoppedText(group.id, box.stopped)];
    const lines = [group.operator ?? 'Subgraph', ...(box === undefined ? [] : [badge(group, box)]), ...stopped];
    return { title: group.title || group.id, lines, findings: [], run: undefined };
  }
  return { title: node.id, lines: [...(node.operator === null ? [] : [role(node)]), ...remembers(node)], findings: node.diagnostics, run: run.get(node.id) };
}

/** Where a Loop or a Map is: "turn 2 of 4", "7 of 12 items", and afterwards how many there were. */
export function badge({ operator }: Pick<GraphSubgraph, 'operator'>, { begun, ended, of, running, stopped }: BoxRun): string {
  const what = operator === 'Map' ? 'item' : 'turn';
  if (stopped !== undefined && !running) return `${stopped.why === 'budget' ? 'budget' : 'turns'} ran out after turn ${stopped.turns}`;
  if (!running) return `${ended} ${what}${ended === 1 ? '' : 's'}`;
  if (what === 'turn') return `turn ${begun}${of === undefined ? '' : ` of ${of}`}`;
  return `${ended}${of === undefined ? '' : ` of ${of}`} items`;
}

/** Whether an edge has just brought something to the turn or item that runs now. */
export function isLit(edge: GraphEdge, run: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>): boolean {
  const box = edge.word !== 'again' || edge.box === null ? undefined : boxes.get(edge.box);
  if (box === undefined || !box.running || box.begun < 2) return false;
  if (edge.case === null) return run.get(edge.source)?.state !== 'skipped';
  return run.get(edge.source)?.case?.trim().toLowerCase() === edge.case.trim().toLowerCase();
}

/** The edges that were taken because the turns or the budget of a Loop ran out, by their ids. */
export function takenAtTheEnd({ edges }: Pick<Graph, 'edges'>, boxes: ReadonlyMap<string, BoxRun>): ReadonlySet<string> {
  const taken = new Set<string>();
  for (const [box, { stopped }] of boxes) {
    if (stopped === undefined) continue;
    const leaving = edges.filter(({ left = [], word, drawn }) => drawn && word !== 'again' && left.includes(box));
    const over = leaving.filter(({ word }) => word === 'over');
    const ways = leaving.filter((edge) => edge.case !== null && stopped.taken.some(({ at, case: chosen }) => at === edge.source && chosen === edge.case));
    // Where nothing is drawn for it, the last turn goes out by the edges that any turn would take.
    const others = over.length + ways.length === 0 ? leaving.filter((edge) => edge.case === null) : [];
    for (const { id } of [...over, ...ways, ...others]) taken.add(id);
  }
  return taken;
}

const WORDS: Readonly<Record<string, string>> = {
  again: 'again: in later turns',
  over: 'over: when the turns ran out',
  each: 'each: an item at a time',
  first: 'first: gives way to what comes again',
};

function role(node: GraphNode): string {
  if (node.kind === 'input' || node.kind === 'output') return node.kind === 'input' ? 'Input' : 'Output';
  return `${node.operator ?? ''}${node.played === true ? ' (played by a model)' : ''}`;
}

/** Whose results a step remembers. */
function remembers({ remembers: nodes = [] }: GraphNode): string[] {
  if (nodes.length === 0) return [];
  const shown = nodes.slice(0, MOST_NAMED).join(', ');
  return [`Remembers the results of ${shown}${nodes.length > MOST_NAMED ? ` and ${nodes.length - MOST_NAMED} more` : ''}`];
}

function flow(edge: GraphEdge): string[] {
  const lines = edge.case === null ? [] : [`Case ${edge.case}`];
  if (edge.word !== null) lines.push(WORDS[edge.word] ?? edge.word);
  if (edge.port !== null) {
    const from = edge.output === null ? '' : `${edge.output} `;
    lines.push(`${from}→ ${edge.port}${edge.type === null ? '' : `: ${edge.type}`}`);
  }
  return lines;
}

/** A node as a screen reader says it. */
export function spoken(node: GraphNode, run: NodeRun | undefined): string {
  const parts = [node.id];
  if (node.operator !== null) parts.push(role(node));
  const label = plain(node.label ?? '');
  if (label !== '' && label !== node.id) parts.push(label);
  parts.push(...remembers(node));
  if (run !== undefined) parts.push([STATES[run.state], run.detail].filter(Boolean).join(' '));
  parts.push(...node.diagnostics.map(({ severity, message }) => `${severity}: ${message}`));
  return parts.join(', ');
}

/** What a flowchart with nodes is that names no operators: one that runs as it is drawn, or only a picture; undefined where it is a workflow. */
export function notWorkflow(graph: Pick<Graph, 'kind' | 'nodes' | 'workflow' | 'why' | 'asDrawn'>): string | undefined {
  if (graph.workflow || graph.why === null || graph.kind !== 'flowchart' || graph.nodes.length === 0) return undefined;
  if (graph.asDrawn === true) return 'A drawing: its boxes are steps that a model carries out as their words say.';
  return `Not a workflow: ${graph.why}.`;
}

/** The ids that messages and runs call the nodes of a workflow by, for the nodes whose label says something else. */
export function captions({ workflow, nodes }: Pick<Graph, 'workflow' | 'nodes'>): Record<string, string> {
  if (!workflow) return {};
  return Object.fromEntries(nodes.flatMap(({ id, label }) => {
    const caption = idCaption(id, label);
    return caption === undefined ? [] : [[id, caption]];
  }));
}

/** The styles of a workflow's nodes where the diagram gives none; none in high contrast, where the theme's own colours say enough. */
export function publishedStyles({ workflow, nodes }: Pick<Graph, 'workflow' | 'nodes'>, highContrast: boolean): Record<string, string[]> {
  if (!workflow || highContrast) return {};
  return Object.fromEntries(nodes.flatMap(({ id, style }) => (style === null ? [] : [[id, style.split(',')]])));
}

/** What the types say on an edge's label, in HTML where labels are that; undefined where nothing flows. */
export function typeWords(edge: GraphEdge, html: boolean): string | undefined {
  if (!edge.drawn || edge.type === null) return undefined;
  const words = escaped(edge.type);
  return html ? `<i>${words}</i>` : words;
}
