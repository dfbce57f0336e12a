/** What the server says of runs: events, the journal's lists and reports, plans. Types only. */

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly calls: number;
  /** US dollars; null where a price is not known, which is never nothing. */
  readonly cost_usd: number | null;
  readonly estimated?: boolean;
}

export type Values = Readonly<Record<string, unknown>>;

/** An event of a run (docs/events.md): fields by kind, and unknown kinds are passed over. */
export interface RunEvent {
  /** Of the format: 2. */
  readonly schema: number;
  /** Its place in what is told of the run, from 1. */
  readonly number: number;
  readonly event: string;
  readonly run: string;
  readonly node: string | null;
  /** The frame that the node ran in; "" is the whole workflow. */
  readonly path: string;
  /** How often a revision asked for the node again. */
  readonly redo?: number;
  /** Seconds since the epoch. */
  readonly at: number;
  readonly endpoint?: string;
  readonly notices?: readonly string[];
  readonly text?: string;
  readonly step?: string;
  readonly sample?: number;
  readonly reason?: string;
  readonly wait?: number;
  /** Of `node_queued`: whether a call waits for a place at the endpoint, or has got it. */
  readonly waits?: boolean;
  readonly outputs?: Values;
  readonly usage?: Usage;
  readonly seconds?: number;
  readonly error?: string;
  /** The kind of failure, and of a run the node that met it and its frame. */
  readonly code?: string;
  readonly failed_node?: string;
  readonly failed_path?: string;
  readonly remedy?: string;
  readonly on_error?: string;
  /** Which turn of a Loop or item of a Map it tells of, and how many there are at most. */
  readonly turn?: number;
  readonly item?: number;
  readonly of?: number;
  /** How a Loop ended: after how many turns, why, whether it still wanted another one, and answers that another was taken for. */
  readonly turns?: number;
  readonly why?: string;
  readonly stopped?: boolean;
  readonly replaced?: readonly ReplacedAnswer[];
  /** The case that a Decision chose. */
  readonly case?: string;
  /** Who answered. */
  readonly sources?: readonly Source[];
  /** Of a node whose result is validated: the attempt that it tells of, whether that is valid, why not, and what to do better. */
  readonly attempt?: number;
  readonly valid?: boolean;
  readonly reasons?: readonly string[];
  readonly feedback?: string;
  /** The number of a revision of the run, who or what asked for it, and what becomes of the nodes. */
  readonly revision?: number;
  readonly trigger?: string;
  readonly diff?: Partial<Difference>;
  /** What a node asks a person. */
  readonly question?: string;
  /** Of `node_step`: what an agent does in a step of its own, such as `tool`, and in words. Its `error` says why that failed. */
  readonly kind?: string;
  readonly title?: string;
}

/** An answer in the last turn of a Loop that would have led back, and the one that was taken. */
export interface ReplacedAnswer {
  readonly at: string;
  readonly answer: string;
  readonly taken: string;
}

/** How a Loop ended, in a report; `path` names it with the turns, items and Calls around it. */
export interface LoopEnd {
  readonly path: string;
  readonly turns: number;
  readonly why: string;
  readonly replaced?: readonly ReplacedAnswer[];
}

/** What a validator said of one attempt of a node. */
export interface Verdict {
  readonly attempt: number;
  readonly sample?: number;
  readonly valid: boolean;
  readonly reasons: readonly string[];
  readonly feedback: string;
}

/** What becomes of a run's nodes by a revision, by their ids. */
export interface Difference {
  readonly kept: readonly string[];
  readonly reset: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** The old id by the new one. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly redone: readonly string[];
  readonly refused: readonly string[];
  /** Those of `removed` that can't be done: the run continues without them. */
  readonly bypassed?: readonly string[];
  /** Visits that ran and were cancelled. */
  readonly cancelled?: readonly string[];
}

/** A revision of a run in the journal. */
export interface Revision {
  readonly revision: number;
  readonly state: 'asked' | 'open' | 'waiting' | 'unchanged' | 'refused' | 'applied';
  readonly trigger: string;
  readonly reason: string | null;
  readonly at: number;
  readonly diff: Partial<Difference>;
}

/** The notification `merrow/runEvent`. */
export interface RunNotice {
  readonly uri: string | null;
  readonly diagram: number;
  readonly event: RunEvent;
  /** The file that the event’s node is in, where that is a called one. */
  readonly inside?: Target;
}

export type RunStatus = 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';

/** How a run ended: the answer to `merrow.run`, `merrow.runFrom` and `merrow.resume`. */
export interface RunEnd {
  readonly run: string;
  readonly status: RunStatus;
  readonly outputs: Values;
  readonly usage: Usage;
  readonly seconds: number;
  readonly error?: string;
  /** The kind of failure, the node that met it, and what the user can do about it. */
  readonly code?: string;
  readonly failed_node?: string;
  readonly failed_path?: string;
  readonly remedy?: string;
  /** The Loops that still wanted another turn when their turns or their budget ran out. */
  readonly exhausted?: readonly string[];
}

/** A run in the journal's list. */
export interface RunSummary {
  readonly run: string;
  readonly workflow: string;
  readonly uri: string | null;
  readonly diagram: number;
  readonly status: RunStatus;
  readonly started: number;
  readonly seconds: number | null;
  readonly usage: Usage;
  readonly error: string | null;
  /** The run that results were reused from. */
  readonly parent: string | null;
  /** Who answered it, in words. */
  readonly answered_by?: string;
  /** Whether this editor's server works on it. */
  readonly here: boolean;
}

export interface Call {
  readonly step: string;
  readonly sample: number;
  readonly attempt: number;
  /** `intent`: a tool that may not be repeated is about to be called. */
  readonly kind: 'model' | 'sandbox' | 'tool' | 'intent';
  /** `endpoint`, `offline` (the embedded model), `cache`, `shared`, `replay`, `sandbox`. */
  readonly origin: string;
  readonly usable: boolean;
  readonly usage: Usage;
  readonly seconds: number;
  readonly request: Values;
  readonly result: Values;
}

/** A value that a node was given, with the node that gave it; without one the value was set by hand. */
export interface GivenValue {
  readonly node?: string;
  readonly output?: string | null;
  readonly value?: unknown;
}

/** Who answered: the origin of an endpoint, and the model by its own name. */
export interface Source {
  readonly endpoint: string;
  readonly model: string;
}

export interface NodeReport {
  /** The visit: the node, behind the turns and items that it ran in. */
  readonly node: string;
  /** The node itself, and the turns and items that it ran in. */
  readonly id: string;
  readonly path: string;
  readonly status: string;
  readonly operator?: string | null;
  readonly model?: string | null;
  /** By port; null of a node that did not come to its end. */
  readonly inputs?: Readonly<Record<string, readonly GivenValue[]>> | null;
  /** Who answered it. */
  readonly sources?: readonly Source[];
  /** Why it made no call, as a sentence; null where it made one, or where a node of its kind makes none. */
  readonly why_no_call?: string | null;
  readonly memory: readonly Values[];
  readonly outputs: Values | null;
  readonly usage?: Usage;
  readonly seconds?: number;
  readonly error: string | null;
  readonly case?: number | null;
  /** Of a Decision the label of the case that it chose. */
  readonly choice?: string | null;
  /** Of a node whose result was validated: the attempt that counts, whether it is valid, and what was said of each. */
  readonly attempt?: number;
  readonly valid?: boolean;
  readonly attempts?: readonly Verdict[];
  readonly calls: readonly Call[];
}

/** A turn of an episode; `action` is null for the one that begins it, and `node` is the visit. */
export interface EpisodeTurn {
  readonly turn: number;
  readonly node: string;
  readonly action: string | null;
  readonly observation: string;
  readonly reward: number;
  readonly done: boolean;
  readonly error?: string;
}

/** What was done in an environment in one visit of a Loop. `reward` is the sum. */
export interface Episode {
  readonly episode: string;
  readonly env: string;
  readonly task: string;
  readonly turns: readonly EpisodeTurn[];
  readonly steps: number;
  readonly reward: number;
  readonly done: boolean;
}

/** The answer to `merrow/show`. */
export interface RunReport extends Omit<RunSummary, 'here'> {
  readonly inputs: Values;
  readonly outputs: Values | null;
  readonly text: string | null;
  readonly nodes: readonly NodeReport[];
  /** Of a report about one node that ran in several turns or items: all of them, in their order. */
  readonly visits?: readonly string[];
  /** Of the run, or of the node that the report is about. */
  readonly episodes?: readonly Episode[];
  readonly lost: readonly { readonly node: string; readonly step: string; readonly why: string }[];
  readonly revisions?: readonly Revision[];
  readonly loops?: readonly LoopEnd[];
  readonly exhausted?: readonly string[];
}

export interface Bounds {
  readonly least: number;
  readonly most: number | null;
}

export interface PlannedNode {
  readonly node: string;
  readonly operator: string;
  readonly model: string | null;
  readonly runs: 'always' | 'by choice';
  /** Whether it says to do something outside, which a model only plays. */
  readonly played?: boolean;
  /** The tool that it calls, or those that its model may use and in how many steps. */
  readonly tool?: string;
  readonly tools?: { readonly names: readonly string[]; readonly steps: number };
  /** How many texts of its store have to be embedded, beside the query. */
  readonly embeds?: number;
  readonly samples: number;
  readonly questions: readonly {
    readonly step: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly least: number;
    readonly most: number;
  }[];
}

/** The answer to `merrow.dryRun`. */
export interface Plan {
  readonly workflow: string;
  readonly endpoint: string;
  readonly order: readonly string[];
  readonly nodes: readonly PlannedNode[];
  /** What happens when the turns of a Loop run out, in a sentence. */
  readonly loops?: readonly { readonly loop: string; readonly text: string }[];
  readonly calls: Bounds;
  readonly tokens: Bounds;
  readonly cost_usd: Bounds;
  /** Sentences on models that the endpoint doesn't serve, and all that it does, where it tells. */
  readonly findings?: readonly string[];
  readonly served?: readonly string[];
}

/** Which diagram of which document. */
export interface Target {
  readonly uri: string;
  readonly diagram: number;
}
