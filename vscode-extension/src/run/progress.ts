/** What the events of one run amount to. Pure. */
import type { BoxRun, Graph, NodeRun, RevisionNote, RunPicture, StoppedLoop } from '../preview/protocol';
import { shownValues } from '../preview/values';
import { noteOf } from '../revisions/words';
import { inLine } from '../people/words';
import { attemptText, drawnFigures, isSetByPerson, judgedText, nothing, secondsText, sum } from './texts/figures';
import { callOf, loopOf, stoppedLoop, stoppedText, unescaped } from './texts/loops';
import type { Difference, Revision, RunEvent, RunStatus, Usage, Values } from './protocol';

interface NodeProgress {
  state: NodeRun['state'];
  detail: string;
  /** When it began, in seconds since the epoch, while it runs. */
  since?: number | undefined;
  /** Since when it waits for a place at the endpoint; that is no part of how long it runs. */
  queued?: number | undefined;
  /** The number of the event with which it began. */
  began?: number | undefined;
  case?: string | undefined;
  /** The beginnings of its outputs. */
  values?: NodeRun['values'];
}

/** A Loop or a Map in one frame: the turns or items that began, and those that ended. */
interface BoxProgress {
  readonly path: string;
  readonly begun: Set<number>;
  readonly ended: Set<number>;
  of: number | undefined;
}

const ENDS: Readonly<Record<string, RunStatus>> = { run_finished: 'finished', run_failed: 'failed', run_cancelled: 'cancelled', run_waiting: 'waiting' };
const STATES: Readonly<Record<string, Revision['state']>> = { revision_opened: 'open', revision_unchanged: 'unchanged', revision_refused: 'refused', revision_waiting: 'waiting', revision_applied: 'applied' };
/** Nodes that have not begun. */
const PENDING: ReadonlySet<NodeRun['state']> = new Set(['waiting', 'reset', 'new']);
/** Seconds from which it is worth saying how long a node runs. */
const LONG = 1;

/** The events of a node after which it asks nobody. */
const ENDS_ASKING: ReadonlySet<string> = new Set(['node_answered', 'node_finished', 'node_reused', 'node_skipped', 'node_failed']);

/** Steps of a node that are shown, the newest, and characters of each. */
const MOST_STEPS = 50;
const LONGEST_STEP = 200;

/** What an agent did in a step of its node. */
export interface NodeStep {
  readonly step: string;
  readonly kind: string;
  readonly title: string;
  readonly error: string | undefined;
}

/** Characters of a question that a node is shown with. */
const LONGEST_ASKED = 60;

/** The code of the last event of a run whose server ended. */
export const INTERRUPTED = 'interrupted';

/** A node as reports name it: behind the turns and items that it ran in. */
export function visitName({ node, path }: Pick<RunEvent, 'node' | 'path'>): string {
  return path === '' ? (node ?? '') : `${path}/${node ?? ''}`;
}

/** Where a run is: node by node, and as a whole. */
export class Progress {
  readonly run: string;
  status: RunStatus = 'running';
  usage: Usage = nothing;
  outputs: Values = {};
  error: string | undefined;
  /** Whether its server ended before it did. */
  isInterrupted = false;
  seconds: number | undefined;
  endpoint: string | undefined;
  /** The number of its last event. */
  last = 0;
  /** By node and frame, what happened last at the end; a node that waits does so in no frame. */
  private readonly nodes = new Map<string, Map<string, NodeProgress>>();
  private readonly boxes = new Map<string, BoxProgress>();
  /** The Loops that stopped although they wanted another turn, by path. */
  private readonly stopped = new Map<string, StoppedLoop>();
  /** The newest steps of nodes, by node and frame as reports name them. */
  private readonly stepsOf = new Map<string, NodeStep[]>();
  /** What asks people inside of called files, by the Call and its frame. */
  private readonly inside = new Map<string, Set<string>>();
  private count = 0;
  /** The newest revision that was applied or waits, and before one that waits the one that was applied. */
  private note: RevisionNote | undefined;
  private readonly revisions = new Map<number, Revision>();
  private applied: RevisionNote | undefined;
  /** The number of the event with which the newest revision was applied. */
  private appliedWith = 0;
  /** The nodes that revisions took out. */
  private readonly gone = new Set<string>();
  /** What the run became, with and without what is gone. */
  private drawings: { readonly now: Graph; readonly withGone: Graph } | undefined;

  /** `nodes`: the ids that the workflow has, as far as they are known; they wait. */
  constructor(run: string, nodes: Iterable<string> = []) {
    this.run = run;
    this.expect(nodes);
  }

  get done(): number {
    return [...this.nodes.values()].map(together).filter(({ state }) => !PENDING.has(state) && state !== 'running' && state !== 'asking' && state !== 'cancelled').length;
  }

  get total(): number {
    return Math.max(this.count, this.nodes.size);
  }

  get isOver(): boolean {
    return this.status !== 'running';
  }

  /** Nodes that are known later than the first events. */
  expect(nodes: Iterable<string>): void {
    for (const node of nodes) if (!this.nodes.has(node)) this.nodes.set(node, new Map([['', { state: 'waiting', detail: '' }]]));
  }

  /** The newest steps of a node in one frame, as reports name it, the newest last. */
  steps(visit: string): readonly NodeStep[] {
    return this.stepsOf.get(visit) ?? [];
  }

  /** The newest revision that was applied, or waits. */
  get revision(): RevisionNote | undefined {
    return this.note;
  }

  /** The run as a whole. */
  get whole() {
    const { run, status, done, total, usage, seconds, error, outputs } = this;
    const stopped = [...this.stopped].map(([path, loop]) => stoppedText(path, loop));
    return { run, status, done, total, usage, seconds, error, outputs, stopped, revisions: [...this.revisions.values()] };
  }

  take(event: RunEvent): void {
    this.last = event.number;
    const call = callOf(event.path);
    if (event.event === 'loop_ended') this.takeEnd(event);
    else if (event.node !== null && call !== undefined) this.takeCalled(call.node, call.path, event);
    else if (event.node !== null && (event.turn ?? event.item) !== undefined) this.takeBox(event.node, event);
    else if (event.node !== null) this.takeNode(event.node, event);
    else if (event.event === 'run_started') {
      this.endpoint = event.endpoint;
      this.count = numberOf(event, 'nodes');
    } else if (event.revision !== undefined) this.takeRevision(event);
    else {
      const status = ENDS[event.event];
      if (status === undefined) return;
      this.status = status;
      this.usage = event.usage ?? this.usage;
      this.outputs = event.outputs ?? {};
      this.error = event.error;
      this.isInterrupted = event.code === INTERRUPTED;
      this.seconds = event.seconds;
      // What was not reached is no part of the picture any more, though of the whole; what ran was stopped.
      this.count = this.total;
      for (const [node, visits] of this.nodes) {
        for (const [path, { state }] of visits) {
          // What asks a person does so until somebody answers, unless the run is over for good.
          if (state === 'running' || (state === 'asking' && status !== 'waiting')) visits.set(path, { state: 'cancelled', detail: '' });
          else if (PENDING.has(state)) visits.delete(path);
          else if (state === 'kept') visits.set(path, { ...(visits.get(path) ?? { detail: '' }), state: 'finished' });
        }
        if (visits.size === 0) this.nodes.delete(node);
      }
    }
  }

  /** The nodes, Loops and Maps as the preview shows them. */
  picture(now: number): RunPicture {
    const revised = this.isOver ? this.drawings?.now : this.drawings?.withGone;
    const boxes = new Map([...this.boxes].map(([box, run]) => [box, this.boxRun(box, run)]));
    return { run: this.run, isOver: this.isOver, text: this.drawings?.now.text, revised, revision: this.note, nodes: this.states(now), boxes };
  }

  /** How the newest revision is drawn, and which visits it ended that ran. */
  draw(now: Graph, withGone: Graph, cancelled: readonly string[]): void {
    this.drawings = { now, withGone };
    for (const [node, visits] of this.nodes) {
      for (const [path, { state, began }] of visits) {
        const isBefore = state === 'running' && began !== undefined && began < this.appliedWith;
        if (isBefore && cancelled.includes(visitName({ node, path }))) visits.set(path, { state: 'waiting', detail: '' });
      }
    }
  }

  /** The nodes as the preview shows them; one that runs several times as it is where something happened last. */
  states(now: number): Map<string, NodeRun> {
    const shown = new Map<string, NodeRun>();
    for (const [node, visits] of this.nodes) {
      const { state, detail, since, queued, case: chosen } = together(visits);
      const all = [...visits.values()];
      const values = all.findLast((one) => one.values !== undefined)?.values;
      const gave = values === undefined ? {} : { values, times: all.filter((one) => one.values !== undefined).length };
      const lasting = queued === undefined && since !== undefined && now - since >= LONG ? secondsText(Math.floor(now - since)) : '';
      const words = [detail, lasting].filter((part) => part !== '').join(' · ');
      shown.set(node, { state, ...(words === '' ? {} : { detail: words }), ...(chosen === undefined ? {} : { case: chosen }), ...casesOf(all), ...gave });
    }
    if (!this.isOver) for (const node of this.gone) shown.set(node, { state: 'gone' });
    return shown;
  }

  private boxRun(box: string, { begun, ended, of }: BoxProgress): BoxRun {
    const stopped = [...this.stopped].findLast(([path]) => loopOf(path) === box)?.[1];
    return { ...(stopped === undefined ? {} : { stopped }), begun: begun.size, ended: this.isOver ? begun.size : ended.size, of, running: begun.size > ended.size && !this.isOver };
  }

  private takeRevision(event: RunEvent): void {
    const { revision = 0, trigger = '', reason = null, at, diff = {} } = event;
    const state = STATES[event.event];
    if (state !== undefined) this.revisions.set(revision, { revision, state, trigger, reason, at, diff });
    const note = noteOf(event);
    if (event.event === 'revision_waiting') this.note = { ...note, waits: true };
    else if (event.event === 'revision_applied') {
      this.note = this.applied = note;
      this.appliedWith = event.number;
      this.become(event.diff ?? {});
    } else if (this.note?.waits === true && this.note.number === event.revision) this.note = this.applied;
  }

  /** The graph is another one: what is finished and holds stays, all else of it waits. */
  private become({ kept = [], reset = [], added = [], removed = [], changed = [], renamed = {} }: Partial<Difference>): void {
    const before = new Map(this.nodes);
    for (const was of [...Object.values(renamed), ...removed]) this.nodes.delete(was);
    for (const [now, was] of Object.entries(renamed)) {
      const known = before.get(was);
      if (known !== undefined) this.nodes.set(now, known);
    }
    for (const node of kept) {
      const visits = this.nodes.get(node);
      for (const [path, one] of visits ?? []) if (one.state === 'finished' || one.state === 'reused') visits?.set(path, { ...one, state: 'kept' });
    }
    for (const node of changed) if (together(this.nodes.get(node) ?? new Map<string, NodeProgress>()).state === 'running') this.nodes.set(node, pending('waiting'));
    for (const node of reset) this.nodes.set(node, pending('reset'));
    for (const node of added) this.nodes.set(node, pending('new'));
    for (const node of removed) this.gone.add(node);
    for (const node of this.nodes.keys()) this.gone.delete(node);
    this.count = Math.max(0, this.count + added.length - removed.length);
  }

  private takeBox(box: string, event: RunEvent): void {
    const run = this.box(box, event.path, event.of);
    const number = event.turn ?? event.item ?? 0;
    run.begun.add(number);
    // After a revision it may go on.
    this.stopped.delete(visitName(event));
    if (!event.event.endsWith('_started')) run.ended.add(number);
  }

  private takeEnd(event: RunEvent): void {
    if (event.stopped === true) this.stopped.set(event.path, stoppedLoop({ turns: event.turns ?? 0, why: event.why ?? '', replaced: event.replaced ?? [] }));
  }

  /** The Loop or Map in its frame. In another turn or item of what is around it, it begins again. */
  private box(box: string, path: string, of: number | undefined): BoxProgress {
    let run = this.boxes.get(box);
    if (run?.path !== path) this.boxes.set(box, (run = { path, begun: new Set(), ended: new Set(), of }));
    run.of ??= of;
    return run;
  }

  /** The turns and items that a path names have begun: whoever reads a run late is told of its nodes, not of these. */
  private takePath(path: string): void {
    for (const found of path.matchAll(/(?:^|\/)([^/]+)\[(\d+)\](?=\/|$)/g)) {
      this.box(unescaped(found[1] ?? ''), path.slice(0, found.index), undefined).begun.add(Number(found[2]));
    }
  }

  /** Something happens in a called file, whose nodes are none of the workflow: its Call asks while anything in there does. */
  private takeCalled(call: string, path: string, event: RunEvent): void {
    this.takePath(path);
    if (event.event === 'node_finished' || event.event === 'node_failed') this.add(event);
    const key = visitName({ node: call, path });
    const asking = this.inside.get(key) ?? new Set<string>();
    this.inside.set(key, asking);
    const visits = this.nodes.get(call);
    const known = visits?.get(path);
    if (event.event === 'node_asked') {
      asking.add(visitName(event));
      const asks: NodeProgress = { ...known, state: 'asking', detail: inLine(event.question ?? '', LONGEST_ASKED) };
      if (visits === undefined) this.nodes.set(call, new Map([[path, asks]]));
      else visits.set(path, asks);
    } else if (ENDS_ASKING.has(event.event) && asking.delete(visitName(event)) && asking.size === 0 && known?.state === 'asking') {
      visits?.set(path, { ...known, state: 'running', detail: '' });
    }
  }

  private takeNode(node: string, event: RunEvent): void {
    this.takePath(event.path);
    this.takeStep(event);
    const now = this.nodeAfter(event, this.nodes.get(node)?.get(event.path));
    if (now === undefined) return;
    const visits = this.nodes.get(node) ?? new Map<string, NodeProgress>();
    this.nodes.set(node, visits);
    if (PENDING.has(visits.get('')?.state ?? 'finished')) visits.delete('');
    // Taken out first, so that the newest is the last.
    visits.delete(event.path);
    visits.set(event.path, now);
  }

  /** A node that begins again has no steps yet. A step that is told again, with how it went, takes its own place. */
  private takeStep(event: RunEvent): void {
    const visit = visitName(event);
    if (event.event === 'node_started') this.stepsOf.delete(visit);
    if (event.event !== 'node_step') return;
    const step = { step: event.step ?? '', kind: event.kind ?? '', title: inLine(event.title ?? '', LONGEST_STEP), error: event.error ? inLine(event.error, LONGEST_STEP) : undefined };
    const known = this.stepsOf.get(visit) ?? [];
    const at = known.findIndex((one) => one.step === step.step && one.kind === step.kind);
    if (at >= 0) known[at] = step;
    else known.push(step);
    this.stepsOf.set(visit, known.slice(-MOST_STEPS));
  }

  /** What a node is after an event of it; undefined where that changes nothing. */
  private nodeAfter(event: RunEvent, known: NodeProgress | undefined): NodeProgress | undefined {
    switch (event.event) {
      case 'node_started':
        return { state: 'running', detail: '', since: event.at, began: event.number };
      case 'node_output':
        return known?.state === 'running' ? { ...known, detail: '' } : undefined;
      case 'node_queued':
        return known?.state === 'running' ? placed(known, event) : undefined;
      case 'node_retrying': {
        const wait = event.wait === undefined || event.wait === 0 ? '' : ` in ${secondsText(event.wait)}`;
        return { state: 'running', detail: `again${wait}: ${event.reason ?? ''}`, since: known?.since ?? event.at, began: known?.began ?? event.number };
      }
      case 'node_asked':
        return { state: 'asking', detail: inLine(event.question ?? '', LONGEST_ASKED) };
      case 'node_answered':
        return known?.state === 'asking' ? { state: 'running', detail: '', since: event.at, began: event.number } : undefined;
      case 'node_step':
        return known?.state === 'running' ? { ...known, detail: inLine(`${event.step ?? ''}: ${event.title ?? ''}`, LONGEST_ASKED) } : undefined;
      case 'node_judged': {
        const judged = judgedText(event);
        return judged === '' || known?.state !== 'running' ? undefined : { ...known, detail: judged };
      }
      case 'node_finished':
        this.add(event);
        return { state: 'finished', detail: [isSetByPerson(event.sources) ? 'set by a person' : '', attemptText(event), drawnFigures(event.usage, event.seconds)].filter((part) => part !== '').join(' · '), case: event.case, values: shownValues(event.outputs) };
      case 'node_reused':
        return { state: 'reused', detail: attemptText(event), case: event.case, values: shownValues(event.outputs) };
      case 'node_skipped':
        return { state: 'skipped', detail: event.reason ?? '' };
      case 'node_failed':
        this.add(event);
        return { state: 'failed', detail: event.error ?? '' };
      default:
        return undefined;
    }
  }

  private add(event: RunEvent): void {
    if (event.usage !== undefined) this.usage = sum(this.usage, event.usage);
  }
}

/** A node that waits for a place at the endpoint, or has got one: then its time goes on from where it was. */
function placed(known: NodeProgress, event: RunEvent): NodeProgress {
  if (event.waits === true) return { ...known, detail: 'queued', queued: event.at };
  const { queued, since, ...rest } = known;
  return { ...rest, detail: '', since: since === undefined || queued === undefined ? since : since + event.at - queued };
}

/** What a node is, all frames together: it asks a person while it does in any of them, runs likewise, and is queued where it is in all. */
function together(visits: ReadonlyMap<string, NodeProgress>): NodeProgress {
  const all = [...visits.values()];
  const running = all.filter(({ state }) => state === 'running');
  const asking = all.findLast(({ state }) => state === 'asking');
  return asking ?? running.findLast(({ queued }) => queued === undefined) ?? running.at(-1) ?? all.at(-1) ?? { state: 'waiting', detail: '' };
}

/** How often a Decision chose each case, in all frames together. */
export function casesOf(visits: readonly { readonly case?: string | undefined }[]): { readonly cases?: Readonly<Record<string, number>> } {
  const cases = new Map<string, number>();
  for (const { case: chosen } of visits) if (chosen !== undefined) cases.set(chosen, (cases.get(chosen) ?? 0) + 1);
  return cases.size === 0 ? {} : { cases: Object.fromEntries(cases) };
}

function pending(state: NodeProgress['state']): Map<string, NodeProgress> {
  return new Map([['', { state, detail: '' }]]);
}

function numberOf(event: RunEvent, key: string): number {
  const value = (event as unknown as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'number' ? value : 0;
}

