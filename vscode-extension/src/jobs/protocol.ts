/** What the server says of every kind of job that the journal lists. Types only. */
import type { Usage } from '../run/protocol';

export type JobStatus = 'running' | 'finished' | 'stopped' | 'cancelled' | 'interrupted';

/** A kind, as the server and menus name it; in an answer of the server its name has the id. */
export type JobKind = 'evaluation' | 'batch' | 'search' | 'extraction' | 'plan' | 'reproduction';

/** A job in a list. */
export type Job<Kind extends JobKind> = Readonly<Record<Kind, string>> & {
  readonly status: JobStatus;
  readonly started: number;
  readonly error: string | null;
  readonly usage: Usage;
};

/** A job of a workflow. */
export type WorkflowJob<Kind extends JobKind> = Job<Kind> & {
  readonly workflow: string;
  readonly uri: string | null;
  readonly dataset: string;
};
