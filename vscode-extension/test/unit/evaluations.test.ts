import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksPeople, byGold, callsTools, fieldsOf, hasReader, unfed } from '../../src/evaluations/fields';
import type { Evaluation, Outcome, Row } from '../../src/evaluations/protocol';
import { idsOf } from '../../src/jobs/item';
import { batchItem, evaluationItem, scoreText } from '../../src/evaluations/words';
import { verdictOfCase, verdictOfItem, type CaseResult } from '../../src/testing/verdicts';

const usage = { prompt_tokens: 10, completion_tokens: 2, calls: 1, cost_usd: 0.01 };
const row = (item: string, status: Outcome, more: Partial<Row> = {}): Row => ({ item, repeat: 0, status, value: status === 'right' ? 1 : 0, read: '7', gold: '6', reason: '7 is not 6', usage, seconds: 1.5, run: `e1/${item}`, ...more });
const evaluation: Evaluation = {
  evaluation: 'e1', workflow: '/w/flow.mmd', uri: 'file:///w/flow.mmd', diagram: 1, status: 'finished', started: 100, seconds: 3, error: null,
  dataset: '/w/own.jsonl', part: 'all', metric: 'numeric', model: 'm-1', endpoint: 'http://127.0.0.1:1', repeats: 1, items: 3, counted: 2,
  answers: { right: 1, wrong: 1, failed: 0, unanswered: 1, invalid: 0 }, missing: 0, score: 0.5, interval: [0.1, 0.9], usage, here: false, asked: { dataset: '/w/own.jsonl' },
};

test('evaluations say in the tree what can be done with them', () => {
  const item = evaluationItem(evaluation, 160);
  assert.deepEqual([item.label, item.description, item.context], ['flow.mmd: 0.500', 'own.jsonl · 1 min ago · $0.0100', 'evaluation']);
  assert.equal(evaluationItem({ ...evaluation, status: 'running' }, 160).context, 'evaluation.live');
  const stopped = evaluationItem({ ...evaluation, status: 'interrupted', score: null, interval: null }, 160);
  assert.deepEqual([stopped.label, stopped.context], ['flow.mmd: no score', 'evaluation.resumable']);
  assert.equal(scoreText({ score: 1, interval: [0.2, 1], counted: 1 }), '1.000 [0.200, 1.000] on 1 item');
});

test('batches say in the tree how many rows are answered, and can be continued where they stopped', () => {
  const batch = { ...evaluation, batch: 'b1', status: 'stopped' as const, error: 'The budget is used up.', rows: { answered: 2, failed: 1 }, output: '/w/out.csv' };
  const item = batchItem(batch, 160);
  assert.deepEqual([item.kind, item.id, item.label, item.context], ['batch', 'b1', 'flow.mmd: 2 of 3 rows answered', 'batch.resumable']);
  assert.match(item.description, /^stopped before its end · own\.jsonl/);
});

test('a command about jobs takes items of the tree and objects with an id, and none of another kind', () => {
  const item = evaluationItem(evaluation, 160);
  assert.match(item.tooltip, /^Evaluation e1: finished\n0\.500 .*\n\/w\/own\.jsonl \(part all\)\nmetric numeric$/);
  assert.deepEqual(idsOf('evaluation', item), ['e1']);
  assert.deepEqual(idsOf('evaluation', item, [item, { ...item, id: 'e2' }]), ['e1', 'e2']);
  assert.deepEqual(idsOf('evaluation', { id: 'e3' }, []), ['e3']);
  assert.deepEqual([idsOf('search', item), idsOf('search', undefined), idsOf('search', { kind: 'run', id: 'r' })], [[], [], []]);
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
