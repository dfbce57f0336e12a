/** The rows of jobs, as the server and the page of results speak of them. Types only. */
import type { Usage } from '../run/protocol';

export type TableKind = 'evaluation' | 'batch' | 'comparison' | 'search';

/** A table: of which job, and of which `other` evaluation where two are compared. */
export interface TableName {
  readonly kind: TableKind;
  readonly id: string;
  readonly other?: string;
}

export interface Column {
  readonly name: string;
  readonly title: string;
  readonly kind: 'item' | 'input' | 'answer' | 'expected' | 'verdict' | 'text' | 'number' | 'score' | 'cost' | 'seconds';
  /** The field of the answer that it has; empty for none. */
  readonly field: string;
}

/** Rows whose answer in a field is `read`, and whose right value is `gold`. */
export interface FieldChoice {
  readonly name: string;
  readonly read?: string;
  readonly gold?: string;
}

/** Which rows are wanted; see `merrow/results`. */
export interface PageRequest {
  readonly offset: number;
  readonly limit: number;
  readonly sort?: string;
  readonly descending?: boolean;
  readonly verdicts?: readonly string[];
  readonly search?: string;
  readonly within?: string;
  readonly field?: FieldChoice;
}

export type Cell = string | number | null;

export interface ResultRow {
  readonly key: string;
  readonly verdict: string;
  readonly run: string;
  /** The fields that are not right, or that the names of columns end with where two are compared. */
  readonly wrong: readonly string[];
  readonly reason: string;
  readonly cells: readonly Cell[];
  /** What a person said of the answer, where anybody said anything of any. */
  readonly people?: 'good' | 'bad' | null;
}

/** The answer to `merrow/results`; texts are cut. */
export interface ResultPage {
  readonly columns: readonly Column[];
  readonly verdicts: Readonly<Record<string, number>>;
  readonly all: number;
  readonly total: number;
  readonly offset: number;
  readonly rows: readonly ResultRow[];
}

/** The answer to `merrow/result` for an answer of an evaluation or a batch. */
export interface WholeRow {
  readonly item: string;
  /** The name that people see for the item. */
  readonly title: string;
  readonly repeat: number;
  readonly status: string;
  readonly value: number | null;
  readonly run: string;
  readonly inputs: Readonly<Record<string, string>> | null;
  readonly answers: readonly { readonly name: string; readonly read: string; readonly gold: string; readonly reason: string }[];
  readonly reason: string;
  readonly usage: Usage;
  readonly seconds: number;
  readonly exhausted: number;
  readonly canRate: boolean;
  readonly people?: 'good' | 'bad' | null;
  readonly note: string;
}

/** The same where two evaluations are compared; null where one of them lacks the answer. */
export interface WholePair {
  readonly before: WholeRow | null;
  readonly after: WholeRow | null;
}

/** The same for a candidate of a search; `picture` is an SVG. */
export interface WholeCandidate {
  readonly candidate: number;
  readonly parents: readonly number[];
  readonly made: string;
  readonly title: string;
  readonly reason: string;
  readonly criteria: Readonly<Record<string, number>>;
  readonly changes: readonly string[];
  readonly picture: string;
  readonly text: string;
  readonly exhausted: number;
}

export type Whole = WholeRow | WholePair | WholeCandidate;

/** What one field came to, at the head: `confusion` is a table whose cells are counts. */
export interface FieldHead {
  readonly name: string;
  readonly score: string;
  readonly about: string;
  readonly gate?: Gate | undefined;
  readonly confusion?: Confusion | undefined;
}

export interface Gate {
  readonly words: string;
  readonly passed: boolean;
}

/**
 * Right values by rows and answers by columns, with the recall of each row and the precision of each column. No count is null, which
 * an undefined one would become on its way to the page.
 */
export interface Confusion {
  readonly reads: readonly string[];
  readonly rows: readonly { readonly gold: string; readonly counts: readonly (number | null)[]; readonly recall: string }[];
  readonly precision: readonly string[];
}

/** What stands above the rows, in words. */
export interface Head {
  readonly title: string;
  readonly about: readonly string[];
  readonly failure: string;
  readonly notes: readonly string[];
  readonly actions: readonly HeadAction[];
  readonly gate?: Gate | undefined;
  readonly fields: readonly FieldHead[];
  /** SVGs with their captions, and what helps: only of searches. */
  readonly charts: readonly string[];
  readonly effects: readonly { readonly what: string; readonly mean: string; readonly interval: string; readonly candidates: string }[];
}

export type HeadAction = 'resume' | 'file' | 'best';

/** What the page says. `turn` numbers what is asked. */
export type FromResults =
  | { readonly turn: number; readonly page: PageRequest; readonly head: boolean }
  | { readonly turn: number; readonly key: string }
  | { readonly act: HeadAction }
  | { readonly run: string; readonly how: 'light' | 'open' }
  | { readonly rate: { readonly item: string; readonly repeat: number; readonly verdict: 'good' | 'bad' | null; readonly note?: string } }
  | { readonly candidate: number; readonly how: 'apply' | 'difference' };

/** What the page hears: the answer to a turn, or that there is more to be asked for. */
export type ToResults =
  | { readonly turn: number; readonly page: ResultPage; readonly head?: Head }
  | { readonly turn: number; readonly whole: Whole }
  | { readonly turn: number; readonly problem: string }
  | 'changed';
