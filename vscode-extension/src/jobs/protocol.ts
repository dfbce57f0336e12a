/** What the server says of every kind of job that the journal lists. Types only. */
import type { Usage } from '../run/protocol';

export type JobStatus = 'running' | 'finished' | 'stopped' | 'cancelled' | 'interrupted';

/** A kind, as the server and menus name it; in an answer of the server its name has the id. */
export type JobKind = 'evaluation' | 'search';

/** A job in a list. */
export type Job<Kind extends JobKind> = Readonly<Record<Kind, string>> & {
  readonly workflow: string;
  readonly uri: string | null;
  readonly status: JobStatus;
  readonly started: number;
  readonly error: string | null;
  readonly dataset: string;
  readonly usage: Usage;
};

/** How far one is; `total` is 0 where no number of answers bounds it. */
export type News<Kind extends JobKind> = Readonly<Record<Kind, string>> & {
  readonly uri: string | null;
  readonly done: number;
  readonly total: number;
  readonly text: string;
};
