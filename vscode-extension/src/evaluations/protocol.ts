/** What the server says of evaluations. Types only. */
import type { WorkflowJob } from '../jobs/protocol';
import type { Bounds, Usage } from '../run/protocol';

export type Outcome = 'right' | 'wrong' | 'failed' | 'unanswered' | 'invalid';

/** What `merrow.evaluate` takes besides the workflow. */
export interface Question {
  readonly dataset: string;
  readonly reader?: string;
  readonly mapping?: Readonly<Record<string, string>>;
  readonly gold?: string;
  /** By fields of the output the columns with their right values. */
  readonly golds?: Readonly<Record<string, string>>;
  readonly part?: string;
  readonly limit?: number;
  readonly items?: readonly string[];
  readonly metric?: string;
  /** By fields of the output. */
  readonly metrics?: Readonly<Record<string, string>>;
  readonly metricOptions?: Readonly<Record<string, string | number>>;
  /** By fields of the output ("": the whole) the least score that passes. */
  readonly gates?: Readonly<Record<string, number>>;
  /** The fields with people's answers, by the nodes that ask. */
  readonly answers?: Readonly<Record<string, string>>;
  /** The model that answers in the place of people. */
  readonly person?: string;
  readonly tools?: 'live' | 'replay';
  /** A file with functions in the place of tools. */
  readonly fakeTools?: string;
  readonly repeat?: number;
  readonly seed?: number;
  readonly judgeModel?: string;
  readonly concurrency?: number;
  /** Whether known answers are asked for again. */
  readonly fresh?: boolean;
  /** The folder whose recipes the environment textcraft has. */
  readonly recipes?: string;
  readonly budget?: { readonly usd?: number; readonly tokens?: number; readonly seconds?: number };
}

/** An evaluation in a list. */
export interface Evaluation extends WorkflowJob<'evaluation'> {
  readonly diagram: number;
  readonly seconds: number;
  readonly part: string;
  readonly metric: string;
  readonly model: string;
  readonly endpoint: string;
  readonly repeats: number;
  readonly items: number;
  readonly counted: number;
  readonly answers: Readonly<Record<Outcome, number>>;
  readonly missing: number;
  readonly score: number | null;
  readonly interval: readonly [number, number] | null;
  readonly fields?: Readonly<Record<string, FieldScore>>;
  /** Whether this editor's server works on it. */
  readonly here: boolean;
  readonly asked: Question;
}

/** What the answers in one field come to; `confusion` says for each right value how often which was answered. */
export interface FieldScore {
  readonly score: number | null;
  readonly n: number;
  readonly interval: readonly [number, number] | null;
  readonly metric: string;
  readonly confusion: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
  readonly precision?: Readonly<Record<string, number | null>>;
  readonly recall?: Readonly<Record<string, number | null>>;
}

/** A metric that can be chosen; a `whole` one scores no fields. */
export interface Metric {
  readonly name: string;
  readonly options: readonly { readonly name: string; readonly needed: boolean; readonly file: boolean }[];
  readonly whole: boolean;
}

/** The answer to `merrow.answerFields`. */
export interface AnswerFields {
  readonly fields: readonly { readonly name: string; readonly type: string; readonly metric: string }[];
  readonly metrics: readonly Metric[];
  /** The names of data sets that come with Merrow. */
  readonly datasets: readonly string[];
}

/** What `merrow.batch` takes besides the workflow. */
export type Rows = Omit<Question, 'gold' | 'golds' | 'metric' | 'metrics' | 'metricOptions' | 'gates' | 'repeat' | 'judgeModel'> & { readonly output: string };

/** A batch in a list. */
export interface Batch extends WorkflowJob<'batch'> {
  readonly items: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly output: string;
}

/** What one answer to an item came to. */
export interface Row {
  readonly item: string;
  /** The name that people see for the item. */
  readonly title: string;
  readonly repeat: number;
  readonly status: Outcome;
  readonly value: number | null;
  readonly read: string;
  readonly gold: string;
  readonly reason: string;
  readonly usage: Usage;
  readonly seconds: number;
  readonly run: string;
  /** How many of its Loops still wanted another turn when their turns or their budget ran out. */
  readonly exhausted?: number;
}

/** The answer to `merrow/evaluation`: failures first. */
export interface Report extends Evaluation {
  readonly rows: readonly Row[];
}

/** The answer to `merrow.evaluate` with `dryRun`. */
export interface Forecast {
  readonly items: number;
  readonly calls: Bounds;
  readonly endpoint: string;
  readonly notices: readonly string[];
  /** What it may cost, in a sentence. */
  readonly text: string;
  readonly mayCost: boolean;
}

/** The notification `merrow/evaluationEvent`; `rows` are those since the last one. */
export interface EvaluationNews {
  readonly evaluation: string;
  readonly uri: string | null;
  readonly diagram: number;
  readonly rows: readonly Row[];
}
