import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actsSomewhere, asksPeople, byGold, byPlace, callsTools, fieldsOf, hasReader, optionValue, unfed } from '../../src/evaluations/fields';
import { MORE, offered, optionProblem, withOption } from '../../src/evaluations/options';
import type { Evaluation, Outcome, Row } from '../../src/evaluations/protocol';
import { idsOf } from '../../src/jobs/item';
import { batchItem, evaluationItem, scoreText } from '../../src/evaluations/words';
import { verdictOfCase, verdictOfItem, type CaseResult } from '../../src/testing/verdicts';

const usage = { prompt_tokens: 10, completion_tokens: 2, calls: 1, cost_usd: 0.01 };
const row = (item: string, status: Outcome, more: Partial<Row> = {}): Row => ({ item, title: item, repeat: 0, status, value: status === 'right' ? 1 : 0, read: '7', gold: '6', reason: '7 is not 6', usage, seconds: 1.5, run: `e1/${item}`, ...more });
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

test('options of metrics that are numbers are sent as numbers, others as they were written', () => {
  assert.deepEqual(['threshold', 'tolerance', 'letters'].map((name) => optionValue(name, '7.5')), [7.5, 7.5, 7.5]);
  assert.deepEqual([optionValue('rubric', '7'), optionValue('threshold', 'seven'), optionValue('threshold', ' ')], ['7', 'seven', ' ']);
});

test('data files are listed by their places, those that batches wrote last', () => {
  const places = ['z.csv', 'mails.answers.csv', 'a/mails.csv', 'b.answers.jsonl'].map((place) => ({ place }));
  assert.deepEqual(byPlace(places).map(({ place }) => place), ['a/mails.csv', 'z.csv', 'b.answers.jsonl', 'mails.answers.csv']);
});

test('what else can be said is checked where it is typed, and asked of the server', () => {
  const option = (key: string) => {
    const found = MORE.find((one) => one.key === key);
    assert.ok(found);
    return found;
  };
  assert.deepEqual([optionProblem(option('repeat'), '0'), optionProblem(option('repeat'), '1.5'), optionProblem(option('repeat'), ' 3 ')], ['A number from 1.', 'A whole number.', undefined]);
  assert.deepEqual([optionProblem(option('seed'), '-4'), optionProblem(option('usd'), '-1'), optionProblem(option('usd'), '0.5'), optionProblem(option('usd'), 'much')], [undefined, 'A number from 0.', undefined, 'A number.']);
  assert.deepEqual([optionProblem(option('items'), ', ,'), optionProblem(option('items'), 'a, b'), optionProblem(option('judgeModel'), '  ')], ['Ids of items, with commas between them.', undefined, 'Write something, or press Escape.']);
  const asked = [['usd', '2'], ['tokens', '90'], ['repeat', ' 3 '], ['items', 'a, b,'], ['fresh', ''], ['judgeModel', ' m-1 '], ['part', 'test']].reduce((all, [key = '', text = '']) => withOption(all, option(key), text), { dataset: 'd' });
  assert.deepEqual(asked, { dataset: 'd', budget: { usd: 2, tokens: 90 }, repeat: 3, items: ['a', 'b'], fresh: true, judgeModel: 'm-1', part: 'test' });
});

test('nothing is offered that is of no use', () => {
  const keys = (isScored: boolean, hasEnvironment: boolean) => offered({ isScored, hasEnvironment }).map(({ key }) => key);
  assert.deepEqual(keys(true, true), MORE.map(({ key }) => key));
  assert.deepEqual(MORE.map(({ key }) => key).filter((key) => !keys(false, false).includes(key)), ['repeat', 'judgeModel', 'recipes']);
  assert.deepEqual([actsSomewhere([{ id: 'A', operator: 'Environment' }]), actsSomewhere([{ id: 'A', operator: 'Tool' }, { id: 'B' }])], [true, false]);
});
