/** The report of an evaluation as HTML. Pure; every text is escaped. */
import { fileName, statusText } from '../jobs/item';
import { costText, endpointName, secondsText } from '../run/texts/figures';
import { escape } from '../run/panel/markdownHtml';
import type { FieldAnswer, FieldScore, Outcome, Report, Row, Verdict } from './protocol';
import { scoreText } from './words';

const BEFORE = ['Inputs'];
const WHOLE = ['Answer', 'Expected'];
const VERDICTS: readonly (readonly [Verdict, string])[] = [['good', '✓'], ['bad', '✗']];
const LONGEST_NOTE = 2000;
/** Characters of what was asked that are shown before a click. */
const LINE = 60;
const OUTCOMES: readonly Outcome[] = ['failed', 'wrong', 'invalid', 'unanswered', 'right'];

export function reportHtml(report: Report): string {
  const { answers, missing } = report;
  const about = [
    statusText(report.status),
    `${fileName(report.dataset)} (part ${report.part})`,
    `metric ${report.metric}`,
    `${report.model === '' ? '' : `${report.model} at `}${endpointName(report.endpoint)}`,
    costText(report.usage),
    secondsText(report.seconds),
    new Date(report.started * 1000).toLocaleString(),
    `evaluation ${report.evaluation}`,
  ];
  const parts = [
    `<header><h1>${escape(fileName(report.workflow))}: ${escape(scoreText(report))}</h1><p class="about">${about.map(escape).join(' · ')}</p></header>`,
  ];
  if (report.error !== null) parts.push(`<p class="failure">${escape(report.error)}</p>`);
  if (report.status !== 'finished' && report.status !== 'running') parts.push('<p><button data-act="resume">Continue</button></p>');
  const left = answers.unanswered + answers.invalid;
  if (left > 0) parts.push('<p class="about">The score leaves out what is unanswered or invalid.</p>');
  const stopped = report.rows.filter((row) => row.exhausted).length;
  if (stopped > 0) parts.push(`<p class="about">${stopped === 1 ? '1 answer comes from a Loop' : `${stopped} answers come from Loops`} whose turns or budget ran out.</p>`);
  const filters = OUTCOMES.filter((one) => answers[one] > 0).map((one) => `<button class="filter ${one}" aria-pressed="false" data-filter="${one}">${answers[one]} ${one}</button>`);
  if (missing > 0) filters.push(`<span class="about">${missing} not asked yet</span>`);
  parts.push(...Object.entries(report.fields ?? {}).map(([name, field]) => fieldHtml(name, field)));
  parts.push(`<p class="filters" role="group" aria-label="Show only">${filters.join(' ')}</p>`);
  if (report.rows.length > 0) parts.push(table(report));
  return parts.join('\n');
}

/** The score of a field, and which values were taken for which. */
function fieldHtml(name: string, { score, interval, metric, confusion, precision = {}, recall = {} }: FieldScore): string {
  const range = interval === null ? '' : ` [${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}]`;
  const head = `<p><strong>${escape(name)}</strong> ${score === null ? 'no score' : `${score.toFixed(3)}${range}`} <span class="about">${escape(metric)}</span></p>`;
  const golds = Object.entries(confusion ?? {});
  if (golds.length === 0) return head;
  const seen = new Set([...golds.map(([gold]) => gold), ...golds.flatMap(([, row]) => Object.keys(row))]);
  const known = Object.keys(recall);
  const reads = [...known.filter((value) => seen.has(value)), ...[...seen].filter((value) => !known.includes(value))];
  const cell = (text: string) => `<td class="number">${escape(text)}</td>`;
  const share = (value: number | null | undefined) => (value === null || value === undefined ? '' : value.toFixed(3));
  const lines = golds.map(([gold, row]) => `<tr><th scope="row">${escape(gold)}</th>${reads.map((read) => cell(String(row[read] ?? ''))).join('')}${cell(share(recall[gold]))}</tr>`);
  const last = `<tr><th scope="row">Precision</th>${reads.map((read) => cell(share(precision[read]))).join('')}<td></td></tr>`;
  const heads = ['Expected', ...reads.map((read) => (read === '' ? 'no answer' : read)), 'Recall'].map((text) => `<th scope="col">${escape(text)}</th>`).join('');
  return `${head}<table class="confusion"><thead><tr>${heads}</tr></thead><tbody>${lines.join('')}${last}</tbody></table>`;
}

/** The answer in a field, with the right one beside it where it differs. */
function fieldText(field: FieldAnswer | undefined): string {
  if (field === undefined) return '';
  if (field.value === 1) return field.read;
  const part = field.value > 0 ? ` ${field.value.toFixed(2)}` : '';
  return `${field.read === '' ? 'no answer' : field.read}${part} (${field.gold === '' ? field.reason : `expected ${field.gold}`})`;
}

/** The columns: with scored fields one for each, in the place of the whole answer and the right one. */
function columnsOf(fields: readonly string[]): string[] {
  return [...BEFORE, ...fields, 'Item', 'Status', ...(fields.length > 0 ? [] : WHOLE), 'Reason', 'People', 'Cost', 'Time'];
}

function table({ rows, repeats, fields: scored = {} }: Report): string {
  const fields = Object.keys(scored);
  const head = columnsOf(fields).map((name) => `<th scope="col">${escape(name)}</th>`).join('');
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.map((row) => line(row, repeats, fields)).join('\n')}</tbody></table>`;
}

function line(row: Row, repeats: number, fields: readonly string[]): string {
  const name = escape(repeats > 1 ? `${row.item} (${row.repeat + 1})` : row.item);
  // Only what ran can be opened.
  const item = row.run === '' ? name : `<button class="link" data-act="run" data-run="${escape(row.run)}" title="Show its run">${name}</button>`;
  const value = row.value !== null && row.value > 0 && row.value < 1 ? ` ${row.value.toFixed(2)}` : '';
  const loops = row.exhausted ? `${row.exhausted} Loop${row.exhausted === 1 ? '' : 's'} stopped: the turns or the budget ran out.` : '';
  const reason = [row.reason, loops].filter((part) => part !== '').join(' ');
  const texts = [...(fields.length > 0 ? [] : [row.read, row.gold]), reason].map((text) => `<div class="text">${escape(text)}</div>`);
  const cells = [`${row.status}${value}`, ...texts, verdicts(row), escape(row.usage.cost_usd === null ? 'unknown' : costText(row.usage)), secondsText(row.seconds)];
  const classes = [row.status, ...texts.map(() => ''), 'people', 'number', 'number'];
  const names = columnsOf(fields).slice(fields.length + 2);
  const ofFields = fields.map((name) => `<td data-column="${escape(name)}"><div class="text">${escape(fieldText(row.fields?.[name]))}</div></td>`).join('');
  // In a narrow panel the columns are below each other, each with its name.
  const columns = cells.map((cell, place) => `<td class="${classes[place] ?? ''}" data-column="${names[place] ?? ''}">${cell}</td>`).join('');
  return `<tr data-status="${row.status}"><td class="inputs" data-column="${BEFORE[0]}">${inputs(row)}</td>${ofFields}<th scope="row">${item}</th>${columns}</tr>`;
}

/** What was asked: a line, and all of it on a click where that is longer. */
function inputs({ inputs: given, item, repeat }: Row): string {
  if (given === undefined || given === null) return '<span class="about">unknown</span>';
  const text = inputsText(given);
  const first = text.trimStart().split('\n', 1)[0]?.trimEnd() ?? '';
  if (first === text.trim() && first.length <= LINE) return escape(first);
  const summary = Array.from(first).slice(0, LINE).join('');
  return `<details data-item="${escape(item)}" data-repeat="${repeat}"><summary>${escape(summary)}…</summary><div class="text">${escape(text)}</div></details>`;
}

/** The value alone where there is one input, else a line for each with its name. */
function inputsText(given: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(given).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value, null, 2)] as const);
  const [only] = values;
  return values.length === 1 && only !== undefined ? only[1] : values.map(([name, value]) => `${name}: ${value}`).join('\n');
}

/** Buttons for what a person says of an answer, and their note beside it; none where there is no answer. */
function verdicts({ item, repeat, verdict, note = '' }: Row): string {
  if (verdict === undefined) return '';
  const about = `data-item="${escape(item)}" data-repeat="${repeat}"`;
  const buttons = VERDICTS.map(([name, sign]) => `<button class="verdict" data-act="rate" ${about} data-verdict="${name}" aria-pressed="${verdict === name}" aria-label="${name}" title="Call the answer ${name}">${sign}</button>`);
  const noted = verdict === null ? '' : `<input class="note" data-act="note" ${about} data-verdict="${verdict}" value="${escape(note)}" placeholder="Note" maxlength="${LONGEST_NOTE}" aria-label="Note on the answer to ${escape(item)}">`;
  return `<span>${buttons.join('')}</span>${noted}`;
}
