/** Sentences about parts of the picture, for tooltips and for those who listen. */
import { escaped, idCaption, plain } from '../drawing/captions';
import { type Folded, groupTitle } from './folding';
import type { EdgeRun } from './ways';
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
  /** Of an edge: what the run did with it, and the beginning of what passed along it, which is foreign text. */
  readonly passed?: { readonly words: string; readonly value: string | undefined };
}

/** What there is to say of a part of the picture that is shown. */
export interface Shown {
  readonly graph: Graph;
  readonly run: ReadonlyMap<string, NodeRun>;
  readonly boxes: ReadonlyMap<string, BoxRun>;
  readonly edges: ReadonlyMap<string, EdgeRun>;
  readonly folds: Folded['folds'];
}

export function about(part: Part, { graph, run, boxes, edges, folds }: Shown): About | undefined {
  if (part.kind === 'edge') {
    const edge = graph.edges.find(({ id }) => id === part.id);
    if (edge === undefined) return undefined;
    const passed = passedWords(edges.get(edge.id));
    return { title: `${edge.source} → ${edge.target}`, lines: flow(edge), findings: edge.diagnostics, run: undefined, ...(passed === undefined ? {} : { passed }) };
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
  const group = folds.get(node.id);
  if (group !== undefined) {
    const lines = [named(group), ...(node.operator === null ? [] : [role(node)]), 'Click to show each of them'];
    return { title: `${group.length} equal steps`, lines, findings: node.diagnostics, run: run.get(node.id) };
  }
  return { title: node.id, lines: [...(node.title ? [short(node.title)] : []), ...(node.operator === null ? [] : [role(node)]), ...remembers(node)], findings: node.diagnostics, run: run.get(node.id) };
}

/** What a run did with an edge. */
function passedWords(run: EdgeRun | undefined): About['passed'] {
  if (run === undefined) return undefined;
  if (run.way === 'left') return { words: 'Not taken', value: undefined };
  return { words: run.times > 1 ? `Taken ${run.times} times, last with` : run.value === undefined ? 'Taken' : 'Taken with', value: run.value };
}

/** An edge as a screen reader says it. */
export function spokenEdge(part: Part, shown: Shown): string {
  const said = about(part, shown);
  if (said === undefined) return part.id;
  const passed = said.passed === undefined ? [] : [[said.passed.words, said.passed.value].filter(Boolean).join(': ')];
  return [said.title, ...said.lines, ...passed, ...said.findings.map(({ severity, message }) => `${severity}: ${message}`)].join(', ');
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
  return [`Remembers the results of ${named(nodes)}`];
}

function named(ids: readonly string[]): string {
  return `${ids.slice(0, MOST_NAMED).join(', ')}${ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : ''}`;
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
export function spoken(node: GraphNode, run: NodeRun | undefined, group?: readonly string[]): string {
  const parts = group === undefined ? [node.id] : [`${group.length} equal steps: ${named(group)}`];
  if (node.title) parts.push(short(node.title));
  if (node.operator !== null) parts.push(role(node));
  const label = plain(node.label ?? '');
  if (label !== '' && label !== node.id) parts.push(label);
  parts.push(...remembers(node));
  if (run !== undefined) parts.push([STATES[run.state], detailOf(node, run)].filter(Boolean).join(' '));
  parts.push(...node.diagnostics.map(({ severity, message }) => `${severity}: ${message}`));
  return parts.join(', ');
}

/** What is said below a node of a run: of a Decision which case it chose, and then what it took. */
export function detailOf({ kind }: Pick<GraphNode, 'kind'>, { state, case: chosen, cases = {}, detail = '' }: NodeRun): string {
  const known = kind === 'decision' && chosen !== undefined && state !== 'failed' ? chosen : undefined;
  const others = Object.entries(cases).filter(([one]) => one !== known).map(([one, times]) => `${one} ${times}×`);
  const choice = known === undefined ? '' : `→ ${short(known)}${others.length === 0 ? '' : ` (before: ${short(others.join(', '))})`}`;
  return [choice, detail].filter((part) => part !== '').join(' · ');
}

/** What a flowchart with nodes is that names no operators: one that runs as it is drawn, or only a picture; undefined where it is a workflow. */
export function notWorkflow(graph: Pick<Graph, 'kind' | 'nodes' | 'workflow' | 'why' | 'asDrawn'>): string | undefined {
  if (graph.workflow || graph.why === null || graph.kind !== 'flowchart' || graph.nodes.length === 0) return undefined;
  if (graph.asDrawn === true) return 'A drawing: its boxes are steps that a model carries out as their words say.';
  return `Not a workflow: ${graph.why}.`;
}

/** What the nodes of a workflow say that is not in the text, by id, in HTML. */
export interface NodeWords {
  /** In the place of labels that only name an operator: the role; with the number of equal steps that are drawn as one. */
  readonly labels: Record<string, string>;
  /** Small below: operators, and the ids that messages and runs call nodes by, where the label says something else. */
  readonly captions: Record<string, string>;
}

/** The words of the nodes of a workflow that are drawn; `folds` are groups of equal steps by the one that is drawn, `all` all nodes. */
export function nodeWords({ workflow, nodes }: Pick<Graph, 'workflow' | 'nodes'>, folds: Folded['folds'] = new Map(), all: readonly GraphNode[] = nodes): NodeWords {
  const labels = new Map<string, string>();
  const captions = new Map<string, string>();
  if (!workflow) return { labels: {}, captions: {} };
  const byId = folds.size === 0 ? new Map<string, GraphNode>() : new Map(all.map((node) => [node.id, node]));
  const titles = (ids: readonly string[]) => ids.flatMap((id) => { const node = byId.get(id); return node === undefined ? [] : [titleOf(node)]; });
  for (const node of nodes) {
    const group = folds.get(node.id);
    const title = node.title ?? undefined;
    if (group !== undefined) labels.set(node.id, `${escaped(groupTitle(titles(group)))} <b>× ${group.length}</b>`);
    else if (title !== undefined) labels.set(node.id, escaped(short(title)));
    // The ids of a group are many.
    const id = group === undefined ? idCaption(node.id, title ?? node.label) : undefined;
    const operator = operatorCaption(node);
    const words = [operator, id].filter((part) => part !== undefined).join(node.settings === undefined || node.settings === '' ? ' · ' : '<br/>');
    if (words !== '') captions.set(node.id, words);
  }
  return { labels: Object.fromEntries(labels), captions: Object.fromEntries(captions) };
}

/** What a node is called: its role, else what its label says, else its id. */
export function titleOf({ id, title, label }: Pick<GraphNode, 'id' | 'title' | 'label'>): string {
  return short(title ?? (plain(label ?? '') || id));
}

/** Characters of a title. */
const LONGEST_TITLE = 60;

function short(words: string): string {
  return words.length > LONGEST_TITLE ? `${words.slice(0, LONGEST_TITLE - 1)}…` : words;
}

/** The operator of a step with its settings, small, in HTML; undefined where the label says it, and of what is no step. */
function operatorCaption({ kind, operator, label, title, settings = '' }: GraphNode): string | undefined {
  if (kind !== 'operator' || operator === null) return undefined;
  const says = plain(label ?? '').toLowerCase().startsWith(operator.toLowerCase());
  if ((title ?? undefined) === undefined && says) return undefined;
  return `<span class="node-operator" style="font-size: 12px; color: inherit">${escaped(`${operator}${settings === '' ? '' : ` (${settings})`}`)}</span>`;
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
