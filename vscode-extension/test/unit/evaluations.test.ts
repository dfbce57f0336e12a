import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksPeople, byGold, callsTools, fieldsOf, hasReader, unfed } from '../../src/evaluations/fields';
import type { Evaluation, Outcome, Report, Row } from '../../src/evaluations/protocol';
import { reportHtml } from '../../src/evaluations/reportHtml';
import { idsOf } from '../../src/jobs/item';
import { evaluationItem, scoreText } from '../../src/evaluations/words';
import { verdictOfCase, verdictOfItem, type CaseResult } from '../../src/testing/verdicts';

const usage = { prompt_tokens: 10, completion_tokens: 2, calls: 1, cost_usd: 0.01 };
const row = (item: string, status: Outcome, more: Partial<Row> = {}): Row => ({ item, repeat: 0, status, value: status === 'right' ? 1 : 0, read: '7', gold: '6', reason: '7 is not 6', usage, seconds: 1.5, run: `e1/${item}`, ...more });
const evaluation: Evaluation = {
  evaluation: 'e1', workflow: '/w/flow.mmd', uri: 'file:///w/flow.mmd', diagram: 1, status: 'finished', started: 100, seconds: 3, error: null,
  dataset: '/w/own.jsonl', part: 'all', metric: 'numeric', model: 'm-1', endpoint: 'http://127.0.0.1:1', repeats: 1, items: 3, counted: 2,
  answers: { right: 1, wrong: 1, failed: 0, unanswered: 1, invalid: 0 }, missing: 0, score: 0.5, interval: [0.1, 0.9], usage, here: false, asked: { dataset: '/w/own.jsonl' },
};

test('the report lists every answer with its run, and says what the score leaves out', () => {
  const html = reportHtml({ ...evaluation, rows: [row('q3', 'wrong'), row('q1', 'right'), row('q2', 'unanswered', { run: '' })] });
  assert.match(html, /flow\.mmd: 0\.500 \[0\.100, 0\.900\] on 2 items/);
  assert.match(html, /data-act="run" data-run="e1\/q3"/);
  assert.equal([...html.matchAll(/<tr data-status=/g)].length, 3);
  assert.equal([...html.matchAll(/data-act="run"/g)].length, 2);
  assert.match(html, /leaves out what is unanswered or invalid/);
  assert.doesNotMatch(html, /data-act="rate"/);
  const rated = reportHtml({ ...evaluation, rows: [row('q1', 'right', { verdict: 'bad' }), row('q2', 'right', { verdict: null }), row('q3', 'right', { verdict: 'good', note: 'a "fine" <one>' })] });
  assert.deepEqual([...rated.matchAll(/data-item="(q\d)" data-repeat="0" data-verdict="(\w+)" aria-pressed="(\w+)"/g)].map(([, ...found]) => found.join(' ')), ['q1 good false', 'q1 bad true', 'q2 good false', 'q2 bad false', 'q3 good true', 'q3 bad false']);
  assert.deepEqual([...rated.matchAll(/data-act="note" data-item="(q\d)" data-repeat="0" data-verdict="(\w+)" value="([^"]*)"/g)].map(([, ...found]) => found), [['q1', 'bad', ''], ['q3', 'good', 'a &quot;fine&quot; &lt;one&gt;']]);
  assert.deepEqual([...html.matchAll(/data-filter="(\w+)"/g)].map(([, name]) => name), ['wrong', 'unanswered', 'right']);
  assert.doesNotMatch(html, /data-act="resume"/);
  assert.match(reportHtml({ ...evaluation, status: 'stopped', error: 'The budget is used up.', rows: [] }), /The budget is used up\.[^]*data-act="resume"/);
});

test('what was asked comes first: a line of it, all of it on a click, and no answer where it is not known', () => {
  const long = 'Dear team,\nwhere is my lamp?';
  const html = reportHtml({ ...evaluation, rows: [
    row('q1', 'wrong', { inputs: { PROBLEM: 'What is 2 times 3?' } }), row('q2', 'wrong', { inputs: { LETTER: long } }), row('q3', 'right', { inputs: null }),
    row('q4', 'right', { inputs: { A: 'x'.repeat(61), B: [1] } }), row('q5', 'right', { inputs: { A: '<b>' } }),
  ] });
  const cells = [...html.matchAll(/<tr data-status="\w+"><td class="inputs" data-column="Inputs">(.*?)<\/td>/gs)].map(([, cell]) => cell);
  assert.deepEqual([cells[0], cells[4]], ['What is 2 times 3?', '&lt;b&gt;']);
  assert.match(cells[1] ?? '', /<details[^>]*><summary>Dear team,…<\/summary><div class="text">Dear team,\nwhere is my lamp\?<\/div>/);
  assert.match(cells[2] ?? '', /unknown/);
  assert.match(cells[3] ?? '', /<summary>A: x{57}…<\/summary><div class="text">A: x{61}\nB: \[/);
});

test('no text of data, models or files is markup in the report', () => {
  const bad = '"><img src=x onerror=alert(1)><script>alert(1)</script>\'';
  const html = reportHtml({
    ...evaluation, workflow: `/w/${bad}`, dataset: bad, metric: bad, model: bad, endpoint: bad, part: bad, error: bad,
    rows: [row(bad, 'wrong', { read: bad, gold: bad, reason: bad, run: bad, inputs: { [bad]: bad, other: bad } })],
  } satisfies Report);
  assert.doesNotMatch(html, /<img|<script|onerror=alert\(1\)>/);
  for (const [tag] of html.matchAll(/<[^>]*>/g)) assert.doesNotMatch(tag.replaceAll(/"[^"]*"/g, ''), /onerror/);
});

test('evaluations say in the tree what can be done with them', () => {
  const item = evaluationItem(evaluation, 160);
  assert.deepEqual([item.label, item.description, item.context], ['flow.mmd: 0.500', 'own.jsonl · 1 min ago · $0.0100', 'evaluation']);
  assert.equal(evaluationItem({ ...evaluation, status: 'running' }, 160).context, 'evaluation.live');
  const stopped = evaluationItem({ ...evaluation, status: 'interrupted', score: null, interval: null }, 160);
  assert.deepEqual([stopped.label, stopped.context], ['flow.mmd: no score', 'evaluation.resumable']);
  assert.equal(scoreText({ score: 1, interval: [0.2, 1], counted: 1 }), '1.000 [0.200, 1.000] on 1 item');
});

test('a command about jobs takes items of the tree and objects with an id, and none of another kind', () => {
  const item = evaluationItem(evaluation, 160);
  assert.match(item.tooltip, /^Evaluation e1: finished\n0\.500 .*\n\/w\/own\.jsonl \(part all\)\nmetric numeric$/);
  assert.deepEqual(idsOf('evaluation', item), ['e1']);
  assert.deepEqual(idsOf('evaluation', item, [item, { ...item, id: 'e2' }]), ['e1', 'e2']);
  assert.deepEqual(idsOf('evaluation', { id: 'e3' }, []), ['e3']);
  assert.deepEqual([idsOf('search', item), idsOf('search', undefined), idsOf('search', { kind: 'run', id: 'r' })], [[], [], []]);
});

test('a report has a column for each scored field after the inputs, and which values were taken for which', () => {
  const field = { score: 0.5, n: 2, interval: [0.1, 0.9] as const, metric: 'exact', confusion: { billing: { billing: 1, '<b>': 1 } }, precision: { billing: 1 }, recall: { billing: 0.5 } };
  const wrong = row('q1', 'wrong', { fields: { category: { value: 0, read: '<b>', gold: 'billing', reason: 'differs' } } });
  const html = reportHtml({ ...evaluation, fields: { category: field }, rows: [wrong, row('q2', 'right', { fields: { category: { value: 1, read: 'billing', gold: 'billing', reason: '' } } })] });
  const heads = [...html.matchAll(/<th scope="col">(.*?)<\/th>/g)].map(([, head]) => head);
  assert.deepEqual(heads.slice(-8), ['Inputs', 'category', 'Item', 'Status', 'Reason', 'People', 'Cost', 'Time']);
  assert.deepEqual(heads.slice(0, 4), ['Expected', 'billing', '&lt;b&gt;', 'Recall']);
  const cells = [...html.matchAll(/data-column="category"><div class="text">(.*?)<\/div>/g)].map(([, cell]) => cell);
  assert.deepEqual(cells, ['&lt;b&gt; (expected billing)', 'billing']);
  assert.match(html, /data-column="Reason"><div class="text">7 is not 6<\/div>/);
});

test('the fields of data are those of its first record', () => {
  assert.deepEqual(fieldsOf('a.jsonl', '\n{"id": 1, "question": "?", "answer": "}"}\n{"other": 2}\n'), ['id', 'question', 'answer']);
  assert.deepEqual(fieldsOf('a.json', '\uFEFF[{"a": {"b": "}\\""}, "c": 1}, {"d": 2}]'), ['a', 'c']);
  assert.deepEqual(fieldsOf('a.csv', 'id,"the ""right"" answer",question\r\n1,2,3'), ['id', 'the "right" answer', 'question']);
  for (const text of ['', '[]', '{', '[1]', 'null', '{"a": 1']) assert.deepEqual(fieldsOf('a.json', text), []);
  assert.deepEqual(byGold(['id', 'question', 'Answer', 'gold']), ['Answer', 'gold', 'id', 'question']);
  assert.deepEqual(unfed(['PROBLEM', 'CONTEXT'], ['problem', 'id']), ['CONTEXT']);
  assert.deepEqual(['gsm8k_test.jsonl', 'own.jsonl'].map(hasReader), [true, false]);
});

test('results of cases and of items are verdicts with expected and actual', () => {
  const place = { start: { line: 3, character: 1 }, end: { line: 3, character: 5 } };
  const result: CaseResult = { id: 'a', status: 'failed', message: 'Not equal.', expected: '1', actual: '2', place, seconds: 0.5 };
  assert.deepEqual(verdictOfCase(result), { kind: 'failed', message: 'Not equal.', expected: '1', actual: '2', milliseconds: 500 });
  const kinds = { passed: 'passed', xfailed: 'passed', xpassed: 'passed', stale: 'failed', error: 'errored', skipped: 'skipped' } as const;
  for (const [status, kind] of Object.entries(kinds)) assert.equal(verdictOfCase({ ...result, status: status as CaseResult['status'] }).kind, kind);
  assert.equal('expected' in verdictOfCase({ ...result, expected: null }), false);
  assert.deepEqual(verdictOfItem([row('q', 'right'), row('q', 'wrong', { repeat: 1 })]), { kind: 'failed', message: '1 of 2 answers are right. 7 is not 6', expected: '6', actual: '7', milliseconds: 3000 });
  assert.equal(verdictOfItem([row('q', 'unanswered')]).kind, 'skipped');
  assert.equal(verdictOfItem([row('q', 'invalid')]).kind, 'errored');
  assert.equal(verdictOfItem([]).kind, 'skipped');
});

test('who asks people is asked about, and tools where there are any', () => {
  const nodes = [{ id: 'PROBLEM' }, { id: 'ASK', operator: 'Human' }, { id: 'SAY', operator: 'Custom' }, { id: 'AGAIN', operator: 'Human' }];
  assert.deepEqual(asksPeople(nodes).map(({ id }) => id), ['ASK', 'AGAIN']);
  assert.equal(callsTools(nodes), false);
  for (const operator of ['Tool', 'ToolAgent']) assert.equal(callsTools([...nodes, { id: 'USE', operator }]), true);
});
