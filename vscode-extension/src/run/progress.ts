/** What the events of one run amount to. Pure. */
import type { NodeRun } from '../preview/protocol';
import { figures, nothing, secondsText, sum } from './figures';
import type { RunEvent, RunStatus, Usage, Values } from './protocol';

interface NodeProgress {
  state: NodeRun['state'];
  detail: string;
  /** When it began, in seconds since the epoch, while it runs. */
  since?: number | undefined;
}

const ENDS: Readonly<Record<string, RunStatus>> = { run_finished: 'finished', run_failed: 'failed', run_cancelled: 'cancelled' };
/** Seconds from which it is worth saying how long a node runs. */
const LONG = 1;

/** The code of the last event of a run whose server ended. */
export const INTERRUPTED = 'interrupted';

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
  private readonly nodes = new Map<string, NodeProgress>();
  private count = 0;

  /** `nodes`: the ids that the workflow has, as far as they are known; they wait. */
  constructor(run: string, nodes: Iterable<string> = []) {
    this.run = run;
    for (const node of nodes) this.nodes.set(node, { state: 'waiting', detail: '' });
  }

  get done(): number {
    return [...this.nodes.values()].filter(({ state }) => state !== 'waiting' && state !== 'running').length;
  }

  get total(): number {
    return Math.max(this.count, this.nodes.size);
  }

  get isOver(): boolean {
    return this.status !== 'running';
  }

  /** Nodes that are known later than the first events. */
  expect(nodes: Iterable<string>): void {
    for (const node of nodes) if (!this.nodes.has(node)) this.nodes.set(node, { state: 'waiting', detail: '' });
  }

  take(event: RunEvent): void {
    this.last = event.number;
    if (event.node !== null) this.takeNode(event.node, event);
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
      // What was not reached is no part of the picture any more, though of the whole.
      this.count = this.total;
      for (const [node, { state }] of this.nodes) if (state === 'waiting' || state === 'running') this.nodes.delete(node);
    }
  }

  /** The nodes as the preview shows them. */
  states(now: number): Map<string, NodeRun> {
    const shown = new Map<string, NodeRun>();
    for (const [node, { state, detail, since }] of this.nodes) {
      const lasting = since !== undefined && now - since >= LONG ? secondsText(Math.floor(now - since)) : '';
      const words = [detail, lasting].filter((part) => part !== '').join(' · ');
      shown.set(node, words === '' ? { state } : { state, detail: words });
    }
    return shown;
  }

  private takeNode(node: string, event: RunEvent): void {
    switch (event.event) {
      case 'node_started':
        this.nodes.set(node, { state: 'running', detail: '', since: event.at });
        break;
      case 'node_output': {
        const known = this.nodes.get(node);
        if (known?.state === 'running') known.detail = '';
        break;
      }
      case 'node_retrying': {
        const wait = event.wait === undefined || event.wait === 0 ? '' : ` in ${secondsText(event.wait)}`;
        const since = this.nodes.get(node)?.since ?? event.at;
        this.nodes.set(node, { state: 'running', detail: `again${wait}: ${event.reason ?? ''}`, since });
        break;
      }
      case 'node_finished':
        this.add(event);
        this.nodes.set(node, { state: 'finished', detail: figures(event.usage, event.seconds) });
        break;
      case 'node_reused':
        this.nodes.set(node, { state: 'finished', detail: 'taken over' });
        break;
      case 'node_skipped':
        this.nodes.set(node, { state: 'skipped', detail: event.reason ?? '' });
        break;
      case 'node_failed':
        this.add(event);
        this.nodes.set(node, { state: 'failed', detail: event.error ?? '' });
        break;
    }
  }

  private add(event: RunEvent): void {
    if (event.usage !== undefined) this.usage = sum(this.usage, event.usage);
  }
}

function numberOf(event: RunEvent, key: string): number {
  const value = (event as unknown as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'number' ? value : 0;
}
