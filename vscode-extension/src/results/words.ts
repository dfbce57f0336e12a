/** What stands above the rows of a job, in words, without any path. Pure. */
import type { Batch, Evaluation, FieldScore } from '../evaluations/protocol';
import { scoreText } from '../evaluations/words';
import { fileName, statusText } from '../jobs/item';
import type { JobStatus } from '../jobs/protocol';
import type { Usage } from '../run/protocol';
import { costText, count, endpointName, secondsText } from '../run/texts/figures';
import type { Search } from '../searches/protocol';
import { foundText } from '../searches/words';
import type { Confusion, FieldHead, Gate, Head, HeadAction } from './protocol';

/** Of the head of a table, as the server has it. */
export interface EvaluationHead extends Evaluation {
  readonly gates?: readonly { readonly field: string; readonly least: number; readonly score: number | null; readonly passed: boolean }[];
  readonly exhausted?: number;
}

export interface BatchHead extends Batch {
  readonly missing: number;
  readonly seconds: number;
}

interface Difference {
  readonly items: number;
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly test: string;
  readonly p: number | null;
}

export interface ComparisonHead extends Partial<Difference> {
  readonly before: EvaluationHead;
  readonly after: EvaluationHead;
  readonly better: readonly string[];
  readonly worse: readonly string[];
  readonly left_out: number;
  readonly fields?: Readonly<Record<string, Difference>>;
  readonly note: string | null;
}

export interface SearchHead extends Search {
  readonly found: readonly string[];
  readonly charts: readonly string[];
  readonly effects: { readonly effects: readonly { readonly what: readonly string[]; readonly mean: number; readonly interval: readonly [number, number]; readonly candidates: number }[]; readonly why: string | null };
  readonly seconds: number;
}

const EMPTY = { failure: '', notes: [], actions: [], fields: [], charts: [], effects: [] };
/** Parts of workflows that are listed as what helps. */
const MOST_EFFECTS = 20;

export function evaluationHead(head: EvaluationHead): Head {
  const { answers, missing, exhausted = 0 } = head;
  const notes: string[] = [];
  if (answers.unanswered + answers.invalid > 0) notes.push('The score leaves out what is unanswered or invalid.');
  if (missing > 0) notes.push(`${count(missing, 'answer')} not asked for yet.`);
  if (exhausted > 0) notes.push(`${exhausted === 1 ? '1 answer comes from a Loop' : `${exhausted} answers come from Loops`} whose turns or budget ran out.`);
  return {
    ...EMPTY,
    title: `${fileName(head.workflow)}: ${scoreText(head)}`,
    about: about(head, [`${fileName(head.dataset)} (part ${head.part})`, ...(head.fields === undefined ? [`metric ${head.metric}`] : []), modelText(head)], `evaluation ${head.evaluation}`),
    failure: head.error ?? '',
    notes,
    actions: resumable(head.status),
    gate: gateOf(head, ''),
    fields: Object.entries(head.fields ?? {}).map(([name, field]) => fieldHead(name, field, gateOf(head, name))),
  };
}

export function batchHead(head: BatchHead): Head {
  const rows = Object.entries(head.rows).filter(([, number]) => number > 0).map(([status, number]) => `${number} ${status}`);
  if (head.missing > 0) rows.push(`${head.missing} not asked yet`);
  return {
    ...EMPTY,
    title: `${fileName(head.workflow)}: ${rows.join(', ')}`,
    about: about(head, [fileName(head.dataset), `written to ${fileName(head.output)}`], `batch ${head.batch}`),
    failure: head.error ?? '',
    actions: [...resumable(head.status), 'file'],
  };
}

export function comparisonHead(head: ComparisonHead): Head {
  const { before, after, fields = {} } = head;
  const line = (which: string, one: EvaluationHead) => `${which}: ${fileName(one.workflow)}, ${scoreText(one)}, ${one.metric}, ${one.evaluation}`;
  const notes = [line('Before', before), line('After', after)];
  if (head.left_out > 0) notes.push(`${count(head.left_out, 'item')} scored by only one of them ${head.left_out === 1 ? 'is' : 'are'} left out.`);
  if (head.note !== null) notes.push(head.note);
  return {
    ...EMPTY,
    title: head.difference === undefined ? 'No item was scored by both' : `Difference ${differenceText(head as Difference)}`,
    about: [fileName(after.dataset), `${head.better.length} better`, `${head.worse.length} worse`],
    notes,
    fields: Object.entries(fields).map(([name, field]) => ({ name, score: differenceText(field), about: '' })),
  };
}

export function searchHead(head: SearchHead): Head {
  const effects = head.effects.effects.slice(0, MOST_EFFECTS).map(({ what, mean, interval, candidates }) => ({
    what: what.join('; '), mean: signed(mean), interval: `${signed(interval[0])} to ${signed(interval[1])}`, candidates: String(candidates),
  }));
  return {
    ...EMPTY,
    title: `Search for a better ${fileName(head.workflow)}: ${foundText(head)}`,
    about: about(head, [fileName(head.dataset), `metric ${head.metric}`, `strategy ${head.strategy}`, count(head.candidates, 'candidate'), count(head.answers, 'answer')], `search ${head.search}`),
    failure: head.error ?? '',
    notes: [...head.found, ...(head.effects.why === null ? [] : [head.effects.why])],
    actions: [...resumable(head.status), ...(head.crown === 0 ? [] : ['best' as const])],
    charts: head.charts,
    effects,
  };
}

/** The table of which values were taken for which; none where values are not counted. */
export function confusionOf({ confusion, precision = {}, recall = {} }: FieldScore): Confusion | undefined {
  const golds = Object.entries(confusion ?? {});
  if (golds.length === 0) return undefined;
  const seen = new Set([...golds.map(([gold]) => gold), ...golds.flatMap(([, row]) => Object.keys(row))]);
  const known = Object.keys(recall);
  const reads = [...known.filter((value) => seen.has(value)), ...[...seen].filter((value) => !known.includes(value))];
  const share = (value: number | null | undefined) => (value === null || value === undefined ? '' : value.toFixed(3));
  return {
    reads,
    rows: golds.map(([gold, row]) => ({ gold, counts: reads.map((read) => row[read] ?? null), recall: share(recall[gold]) })),
    precision: reads.map((read) => share(precision[read])),
  };
}

function fieldHead(name: string, field: FieldScore, gate: Gate | undefined): FieldHead {
  const range = field.interval === null ? '' : ` [${field.interval[0].toFixed(3)}, ${field.interval[1].toFixed(3)}]`;
  const score = field.score === null ? 'no score' : `${field.score.toFixed(3)}${range}`;
  return { name, score, about: field.metric, gate, confusion: confusionOf(field) };
}

function gateOf({ gates = [] }: EvaluationHead, field: string): Gate | undefined {
  const found = gates.find((one) => one.field === field);
  return found && { words: `${found.passed ? 'passed' : 'failed'}: at least ${found.least}`, passed: found.passed };
}

interface Ended {
  readonly status: JobStatus;
  readonly usage: Usage;
  readonly seconds: number;
  readonly started: number;
}

function about({ status, usage, seconds, started }: Ended, parts: readonly string[], last: string): string[] {
  return [statusText(status), ...parts, costText(usage), secondsText(seconds), new Date(started * 1000).toLocaleString(), last];
}

function modelText({ model, endpoint }: Evaluation): string {
  return `${model === '' ? '' : `${model} at `}${endpointName(endpoint)}`;
}

function resumable(status: JobStatus): HeadAction[] {
  return status === 'finished' || status === 'running' ? [] : ['resume'];
}

function differenceText({ difference, interval, items, p }: Difference): string {
  const chance = p === null ? '' : `, p ${p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`}`;
  return `${signed(difference)} [${signed(interval[0])}, ${signed(interval[1])}] on ${count(items, 'item')}${chance}`;
}

function signed(number: number): string {
  const digits = Math.abs(number).toFixed(3);
  return `${number < 0 && Number(digits) > 0 ? '−' : '+'}${digits}`;
}
