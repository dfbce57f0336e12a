/** What the server says of searches for better workflows. Types only. */
import type { Question } from '../evaluations/protocol';
import type { WorkflowJob } from '../jobs/protocol';

/** Who makes candidates, and what a model that does is told; without a proposer as the user's settings say. */
export interface Proposing {
  readonly proposer?: 'moves' | 'model' | 'both';
  readonly optimizerModel?: string;
  readonly judgeModel?: string;
  readonly goal?: string;
}

/** What `merrow.optimize` takes besides the workflow. */
export interface SearchQuestion extends Omit<Question, 'part' | 'limit' | 'items'>, Proposing {
  readonly strategy?: string;
  /** At most so many answers. */
  readonly evaluations: number;
}

/** How candidates can be chosen; `missing` says why that can't be used here. */
export interface Strategy {
  readonly strategy: string;
  readonly missing: string | null;
}

/** What the items say that no choice was made with. */
export interface HeldOut {
  readonly items: number;
  readonly start: number;
  readonly crown: number;
  readonly difference: number;
  readonly p: number | null;
}

/** A search in a list. */
export interface Search extends WorkflowJob<'search'> {
  readonly diagram: number;
  readonly metric: string;
  readonly strategy: string;
  readonly candidates: number;
  readonly answers: number;
  /** The number of the best candidate; 0 is the workflow that the search began with. */
  readonly crown: number;
  readonly told: number | null;
  readonly held_out: HeldOut | null;
  /** Whether this editor's server works on it. */
  readonly here: boolean;
}

/** The answer to `merrow.showBetter`: `file` has the best workflow, or the candidate that was asked for. */
export interface BetterVersion extends Search {
  readonly file: string;
  readonly before: string;
}

/** The answer to `merrow.optimize` with `dryRun`. */
export interface SearchForecast {
  readonly endpoint: string;
  readonly notes: readonly string[];
  /** What it may cost, in sentences. */
  readonly text: string;
  readonly free: boolean;
}
