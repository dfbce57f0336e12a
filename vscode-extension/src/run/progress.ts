/** What the events of one run amount to. Pure. */
import type { BoxRun, NodeRun, RunPicture } from '../preview/protocol';
import { attemptText, figures, isSetByPerson, judgedText, nothing, secondsText, sum } from './figures';
import type { RunEvent, RunStatus, Usage, Values } from './protocol';

interface NodeProgress {
  state: NodeRun['state'];
  detail: string;
  /** When it began, in seconds since the epoch, while it runs. */
  since?: number | undefined;
  case?: string | undefined;
}

/** A Loop or a Map in one frame: the turns or items that began, and those that ended. */
interface BoxProgress {
  readonly path: string;
  readonly begun: Set<number>;
  readonly ended: Set<number>;
  of: number | undefined;
}

const ENDS: Readonly<Record<string, RunStatus>> = { run_finished: 'finished', run_failed: 'failed', run_cancelled: 'cancelled' };
/** Seconds from which it is worth saying how long a node runs. */
const LONG = 1;

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
  private count = 0;

  /** `nodes`: the ids that the workflow has, as far as they are known; they wait. */
  constructor(run: string, nodes: Iterable<string> = []) {
    this.run = run;
    this.expect(nodes);
  }

  get done(): number {
    return [...this.nodes.values()].map(together).filter(({ state }) => !['waiting', 'running', 'cancelled'].includes(state)).length;
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

  /** The run as a whole. */
  get whole() {
    const { run, status, done, total, usage, seconds, error, outputs } = this;
    return { run, status, done, total, usage, seconds, error, outputs };
  }

  take(event: RunEvent): void {
    this.last = event.number;
    if (event.node !== null && (event.turn ?? event.item) !== undefined) this.takeBox(event.node, event);
    else if (event.node !== null) this.takeNode(event.node, event);
    else if (event.event === 'run_started') {
      this.endpoint = event.endpoint;
      this.count = numberOf(event, 'nodes');
    } else {
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
          if (state === 'running') visits.set(path, { state: 'cancelled', detail: '' });
          else if (state === 'waiting') visits.delete(path);
        }
        if (visits.size === 0) this.nodes.delete(node);
      }
    }
  }

  /** The nodes, Loops and Maps as the preview shows them. */
  picture(now: number): RunPicture {
    return { run: this.run, nodes: this.states(now), boxes: new Map([...this.boxes].map(([box, run]) => [box, this.boxRun(run)])) };
  }

  /** The nodes as the preview shows them; one that runs several times as it is where something happened last. */
  states(now: number): Map<string, NodeRun> {
    const shown = new Map<string, NodeRun>();
    for (const [node, visits] of this.nodes) {
      const { state, detail, since, case: chosen } = together(visits);
      const lasting = since !== undefined && now - since >= LONG ? secondsText(Math.floor(now - since)) : '';
      const words = [detail, lasting].filter((part) => part !== '').join(' · ');
      shown.set(node, { state, ...(words === '' ? {} : { detail: words }), ...(chosen === undefined ? {} : { case: chosen }) });
    }
    return shown;
  }

  private boxRun({ begun, ended, of }: BoxProgress): BoxRun {
    return { begun: begun.size, ended: this.isOver ? begun.size : ended.size, of, running: begun.size > ended.size && !this.isOver };
  }

  private takeBox(box: string, event: RunEvent): void {
    const run = this.box(box, event.path, event.of);
    const number = event.turn ?? event.item ?? 0;
    run.begun.add(number);
    if (!event.event.endsWith('_started')) run.ended.add(number);
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

  private takeNode(node: string, event: RunEvent): void {
    this.takePath(event.path);
    const now = this.nodeAfter(event, this.nodes.get(node)?.get(event.path));
    if (now === undefined) return;
    const visits = this.nodes.get(node) ?? new Map<string, NodeProgress>();
    this.nodes.set(node, visits);
    if (visits.get('')?.state === 'waiting') visits.delete('');
    // Taken out first, so that the newest is the last.
    visits.delete(event.path);
    visits.set(event.path, now);
  }

  /** What a node is after an event of it; undefined where that changes nothing. */
  private nodeAfter(event: RunEvent, known: NodeProgress | undefined): NodeProgress | undefined {
    switch (event.event) {
      case 'node_started':
        return { state: 'running', detail: '', since: event.at };
      case 'node_output':
        return known?.state === 'running' ? { ...known, detail: '' } : undefined;
      case 'node_retrying': {
        const wait = event.wait === undefined || event.wait === 0 ? '' : ` in ${secondsText(event.wait)}`;
        return { state: 'running', detail: `again${wait}: ${event.reason ?? ''}`, since: known?.since ?? event.at };
      }
      case 'node_judged': {
        const judged = judgedText(event);
        return judged === '' || known?.state !== 'running' ? undefined : { ...known, detail: judged };
      }
      case 'node_finished':
        this.add(event);
        return { state: 'finished', detail: [isSetByPerson(event.sources) ? 'set by a person' : '', attemptText(event), figures(event.usage, event.seconds)].filter((part) => part !== '').join(' · '), case: event.case };
      case 'node_reused':
        return { state: 'reused', detail: attemptText(event), case: event.case };
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

/** What a node is, all frames together: it runs while it does in any of them. */
function together(visits: ReadonlyMap<string, NodeProgress>): NodeProgress {
  const all = [...visits.values()];
  return all.findLast(({ state }) => state === 'running') ?? all.at(-1) ?? { state: 'waiting', detail: '' };
}

function numberOf(event: RunEvent, key: string): number {
  const value = (event as unknown as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'number' ? value : 0;
}

/** A part of a path as the id that it stands for (`segment` in merrow_runtime/visit.py). */
function unescaped(part: string): string {
  return part.replaceAll(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
