import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column, ResultRow, WholeRow } from '../../src/results/protocol';
import { batchHead, comparisonHead, confusionOf, evaluationHead, searchHead, type BatchHead, type ComparisonHead, type EvaluationHead, type SearchHead } from '../../src/results/words';
import { MOST_SHOWN, Pages, rowAfter, scrollFor, windowOf } from '../../webview/results/window';
import { cellText, countText, givesReason, markOf, statusText, tookText, widthOf } from '../../webview/results/words';

const usage = { prompt_tokens: 1000, completion_tokens: 200, calls: 1, cost_usd: 0.01 };
const field = { score: 0.5, n: 2, interval: [0.1, 0.9] as const, metric: 'exact', confusion: { billing: { billing: 1, sales: 1 }, sales: { '': 1 } }, precision: { billing: 1, sales: null }, recall: { billing: 0.5, sales: 0 } };
const evaluation: EvaluationHead = {
  evaluation: 'e1', workflow: '/secret/flow.mmd', uri: 'file:///secret/flow.mmd', diagram: 1, status: 'stopped', started: 100, seconds: 3, error: 'The budget is used up.',
  dataset: '/secret/own.jsonl', part: 'all', metric: 'exact', model: 'm-1', endpoint: 'http://127.0.0.1:1', repeats: 1, items: 3, counted: 2,
  answers: { right: 1, wrong: 1, failed: 0, unanswered: 1, invalid: 0 }, missing: 2, score: 0.5, interval: [0.1, 0.9], usage, here: false, asked: { dataset: '/secret/own.jsonl' },
  fields: { category: field }, gates: [{ field: 'category', least: 0.9, score: 0.5, passed: false }, { field: '', least: 0.4, score: 0.5, passed: true }], exhausted: 1,
};
const column = (kind: Column['kind'], name: string, more: Partial<Column> = {}): Column => ({ kind, name, title: name, field: '', ...more });
const row = (more: Partial<ResultRow> = {}): ResultRow => ({ key: '0 q1', verdict: 'wrong', run: 'e1/q1', wrong: [], reason: '7 is not 6', cells: [], ...more });

test('above an evaluation are its score, its gates, its fields with what was taken for what, and no path', () => {
  const head = evaluationHead(evaluation);
  assert.equal(head.title, 'flow.mmd: 0.500 [0.100, 0.900] on 2 items');
  assert.deepEqual(head.gate, { words: 'passed: at least 0.4', passed: true });
  assert.deepEqual(head.fields.map(({ name, score, gate }) => [name, score, gate?.words]), [['category', '0.500 [0.100, 0.900]', 'failed: at least 0.9']]);
  assert.deepEqual([head.failure, head.actions, head.notes.length], ['The budget is used up.', ['resume'], 3]);
  assert.doesNotMatch(JSON.stringify(head), /secret/);
  const done = evaluationHead({ ...evaluation, status: 'finished', error: null, missing: 0, exhausted: 0, gates: [], answers: { ...evaluation.answers, unanswered: 0 } });
  assert.deepEqual([done.failure, done.actions, done.notes, done.gate, done.fields[0]?.gate], ['', [], [], undefined, undefined]);
});

test('values that were taken for others are counted, with the recall of right values and the precision of answers', () => {
  assert.deepEqual(confusionOf(field), {
    reads: ['billing', 'sales', ''],
    rows: [{ gold: 'billing', counts: [1, 1, null], recall: '0.500' }, { gold: 'sales', counts: [null, null, 1], recall: '0.000' }],
    precision: ['1.000', '', ''],
  });
  // As it is after its way to the page.
  assert.deepEqual(JSON.parse(JSON.stringify(confusionOf(field))), confusionOf(field));
  assert.equal(confusionOf({ ...field, confusion: null }), undefined);
});

test('above a batch is how many rows have which status; its file is opened without its path being shown', () => {
  const batch = { ...evaluation, batch: 'b1', rows: { answered: 2, failed: 1, invalid: 0 }, output: '/secret/out.csv', missing: 1 } as unknown as BatchHead;
  const head = batchHead(batch);
  assert.equal(head.title, 'flow.mmd: 2 answered, 1 failed, 1 not asked yet');
  assert.deepEqual(head.actions, ['resume', 'file']);
  assert.ok(head.about.includes('written to out.csv'));
  assert.doesNotMatch(JSON.stringify(head), /secret/);
});

test('above a comparison is the difference with what turned; above a search what it found', () => {
  const difference = { items: 40, difference: -0.1, interval: [-0.2, -0.0001] as const, test: 'exact', p: 0.0001 };
  const compared: ComparisonHead = { before: evaluation, after: { ...evaluation, evaluation: 'e2' }, better: ['q1'], worse: ['q2', 'q3'], left_out: 1, note: 'Other metrics.', fields: { category: difference }, ...difference };
  const head = comparisonHead(compared);
  assert.equal(head.title, 'Difference −0.100 [−0.200, +0.000] on 40 items, p < 0.001');
  assert.deepEqual([head.about, head.fields.map(({ name }) => name), head.notes.at(-1)], [['own.jsonl', '1 better', '2 worse'], ['category'], 'Other metrics.']);
  assert.equal(head.fields[0]?.score, '−0.100 [−0.200, +0.000] on 40 items, p < 0.001');
  const { before, after, better, worse, left_out, note } = compared;
  assert.equal(comparisonHead({ before, after, better, worse, left_out, note }).title, 'No item was scored by both');
  const search = { ...evaluation, search: 's1', strategy: 'climb', candidates: 3, answers: 90, crown: 2, told: 0.8, held_out: null, found: ['Best: round 2.'], charts: ['<svg></svg>'], effects: { effects: [{ what: ['a', 'b'], mean: 0.1, interval: [-0.1, 0.3], candidates: 2 }], why: null } } as unknown as SearchHead;
  const found = searchHead(search);
  assert.match(found.title, /^Search for a better flow\.mmd: round 2, estimated 0\.800$/);
  assert.deepEqual([found.actions, found.effects], [['resume', 'best'], [{ what: 'a; b', mean: '+0.100', interval: '−0.100 to +0.300', candidates: '2' }]]);
  assert.doesNotMatch(JSON.stringify([head, found]), /secret/);
});

test('cells are a line each: money, seconds and numbers in few digits, and what is not known', () => {
  assert.equal(cellText(column('input', 'a'), ' one\n  two '), 'one two');
  assert.deepEqual([cellText(column('cost', 'cost'), 0.01), cellText(column('cost', 'cost'), null), cellText(column('seconds', 's'), 2), cellText(column('number', 'n'), 3), cellText(column('score', 'n'), 1), cellText(column('answer', 'n'), null)], ['$0.0100', 'unknown', '2.0 s', '3', '1.000', '']);
  assert.deepEqual([countText(37, 10_000), countText(1, 1)], ['37 of 10,000 rows', '1 row']);
  const whole: WholeRow = { item: 'q1', title: 'q1', repeat: 0, status: 'wrong', value: 0.25, run: '', inputs: null, answers: [], reason: '', usage, seconds: 2, exhausted: 0, canRate: false, note: '' };
  assert.deepEqual([statusText(whole), statusText({ ...whole, value: 1 }), tookText(whole)], ['wrong 0.25', 'wrong', '$0.0100 · 1,200 tokens · 1 call · 2.0 s']);
  assert.ok(widthOf(column('input', 'a'), true).least > widthOf(column('input', 'a'), false).least);
});

test('answers are marked that are wrong, also of one side of a comparison, and a reason stands for an answer that there is none of', () => {
  assert.equal(markOf(column('answer', 'answer'), row()), 'wrong');
  assert.equal(markOf(column('answer', 'answer'), row({ verdict: 'failed' })), '');
  assert.deepEqual(['failed', 'unanswered', 'answered', 'right'].map((verdict) => givesReason(row({ verdict }))), [true, true, false, false]);
  assert.equal(givesReason(row({ reason: '' })), false);
  const field = { field: 'category' };
  assert.equal(markOf(column('answer', 'answer category', field), row({ wrong: ['category'] })), 'wrong');
  assert.equal(markOf(column('answer', 'answer category', field), row({ wrong: ['amount'] })), '');
  assert.equal(markOf(column('answer', 'before answer category', field), row({ wrong: ['after category'], verdict: 'worse' })), '');
  assert.equal(markOf(column('answer', 'after answer category', field), row({ wrong: ['after category'] })), 'wrong');
  assert.deepEqual(['before answer', 'after answer'].map((name) => markOf(column('answer', name), row({ wrong: ['after '], verdict: 'worse' }))), ['', 'wrong']);
  assert.deepEqual([markOf(column('verdict', 'verdict'), row()), markOf(column('input', 'a'), row())], ['verdict', '']);
});

test('only rows that are seen are in the page, however many there are and however high it is', () => {
  assert.deepEqual(windowOf(0, 260, 26, 10_000), { first: 0, end: 31 });
  assert.deepEqual(windowOf(26 * 500, 260, 26, 10_000), { first: 490, end: 521 });
  assert.deepEqual(windowOf(26 * 9_995, 260, 26, 10_000), { first: 9_985, end: 10_000 });
  assert.deepEqual(windowOf(26 * 500, 260, 26, 3), { first: 0, end: 3 });
  const { first, end } = windowOf(0, 100_000, 26, 10_000);
  assert.deepEqual([end - first, MOST_SHOWN], [160, 160]);
});

test('keys go from row to row, to pages and to both ends, and the row is scrolled to', () => {
  const go = (key: string, at: number) => rowAfter(key, at, 20, 100);
  assert.deepEqual([go('ArrowDown', 0), go('ArrowUp', 0), go('PageDown', 90), go('PageUp', 50), go('Home', 50), go('End', 0), go('x', 3)], [1, 0, 99, 30, 0, 99, undefined]);
  assert.equal(rowAfter('End', 0, 20, 0), undefined);
  assert.deepEqual([scrollFor(0, 100, 260, 26), scrollFor(9, 0, 260, 26), scrollFor(10, 0, 260, 26), scrollFor(50, 1290, 260, 26)], [0, 0, 26, 1290]);
});

test('pages that were looked at last are kept, others are asked for again', () => {
  const pages = new Pages<string>(2);
  assert.deepEqual(pages.missing({ first: 1, end: 5 }), [0, 1, 2]);
  pages.put(1, ['c', 'd']);
  assert.deepEqual([pages.row(2), pages.row(3), pages.row(4), pages.missing({ first: 1, end: 5 })], ['c', 'd', undefined, [0, 2]]);
  for (let number = 2; number < 17; number += 1) pages.put(number, ['x', 'y']);
  assert.equal(pages.row(2), 'c');
  pages.missing({ first: 2, end: 4 });
  pages.put(17, ['x']);
  assert.deepEqual([pages.row(2), pages.row(4)], ['c', undefined]);
  pages.clear();
  assert.equal(pages.row(2), undefined);
});
