import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeldOut, Search } from '../../src/searches/protocol';
import { asksModel, proposersFor, proposing } from '../../src/searches/proposing';
import { strategyChoices } from '../../src/searches/strategies';
import { foundText, searchItem } from '../../src/searches/words';

const held: HeldOut = { items: 20, start: 0.5, crown: 0.56, difference: 0.06, p: 0.01 };
const search: Search = {
  search: 's1', workflow: '/w/flow.mmd', uri: 'file:///w/flow.mmd', diagram: 1, status: 'finished', started: 100, error: null, dataset: '/w/own.jsonl',
  metric: 'numeric', strategy: 'climb', candidates: 7, answers: 400, crown: 3, told: 0.58, held_out: held,
  usage: { prompt_tokens: 10, completion_tokens: 2, calls: 1, cost_usd: 0.01 }, here: false,
};

test('what a search found is what the held-out items say, else its estimate', () => {
  assert.equal(foundText(search), '+0.060 (held-out, p = 0.010)');
  assert.equal(foundText({ ...search, held_out: { ...held, p: 0.0001 } }), '+0.060 (held-out, p < 0.001)');
  assert.equal(foundText({ ...search, held_out: { ...held, difference: -0.1, p: null } }), '−0.100 (held-out, read before)');
  assert.equal(foundText({ ...search, held_out: null }), 'round 3, estimated 0.580');
  assert.equal(foundText({ ...search, crown: 0, held_out: null }), 'no improvement found');
  assert.equal(foundText({ ...search, told: null, held_out: null }), 'nothing scored yet');
});

test('searches say in the tree what can be done with them', () => {
  const item = searchItem(search, 160);
  assert.deepEqual([item.label, item.description, item.context], ['flow.mmd: +0.060 (held-out, p = 0.010)', 'own.jsonl · 1 min ago · $0.0100', 'search']);
  assert.equal(searchItem({ ...search, status: 'running' }, 160).context, 'search.live');
  assert.equal(searchItem({ ...search, status: 'cancelled' }, 160).context, 'search.resumable');
});

test('strategies that can be used come first, and the others say that they are not installed', () => {
  const missing = 'The strategy guided needs the package numpy; install it';
  const choices = strategyChoices([{ strategy: 'climb', missing: null }, { strategy: 'guided', missing }, { strategy: 'random', missing: null }, { strategy: 'mcts', missing: null }]);
  assert.deepEqual(choices.map(({ label }) => label), ['climb', 'mcts', 'guided']);
  assert.deepEqual(choices.map((choice) => choice.missing), [null, null, missing]);
  assert.match(choices[2]?.description ?? '', /\(not installed\)$/);
});

test('who proposes is asked for, and only what was answered is said', () => {
  const [asBefore, moves, both, model] = proposersFor('guided');
  assert.ok(asBefore && moves && both && model);
  assert.deepEqual(proposersFor('climb').map(({ value }) => value), [undefined, 'moves', 'both']);
  for (const strategy of ['evolve', 'mcts']) assert.deepEqual(proposersFor(strategy).map(({ value }) => value), [undefined, 'moves', 'both', 'model']);
  assert.deepEqual([asBefore, moves, both, model].map(asksModel), [false, false, true, true]);
  assert.deepEqual(proposing(asBefore, {}), {});
  assert.deepEqual(proposing(moves, {}), { proposer: 'moves' });
  assert.deepEqual(proposing(both, { optimizerModel: ' gpt-5 ', judgeModel: '', goal: 'short answers' }), { proposer: 'both', optimizerModel: 'gpt-5', goal: 'short answers' });
});
