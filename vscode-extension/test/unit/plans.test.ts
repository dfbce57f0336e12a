import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan, Plans } from '../../src/plans/protocol';
import { wishOf } from '../../src/plans/wish';
import { aboutText, cardsOf, shortNumber } from '../../src/plans/words';

const plan: Plan = {
  rank: 1,
  candidate: 3,
  text: 'flowchart TD\n',
  tasks: [
    { id: 'draft', objective: 'Write.', agent: 'w', after: [] },
    { id: 'check', objective: 'Check.', agent: null, after: ['draft'] },
  ],
  agents: [{ id: 'w', role: 'Writer' }],
  figures: { expected: { score: 293.71, time: 12.963 }, paper: { parallelism: 1, complexity: 0 }, code: { score: -0.041912, path_parallelism: 1 } },
  places: { expected: 1, paper: 2, code: 1 },
  metrics: { depth: 2 },
  covered: { 'a map': ['check', 'draft'] },
  missing: ['prices'],
  behind: false,
  repairs: 1,
  notes: ['Only `next` says it; it is taken.'],
};
const usage = { prompt_tokens: 1000, completion_tokens: 200, calls: 4, cost_usd: 0.0031, estimated: false };
const plans: Plans = {
  task: 'x',
  model: 'gpt-4o-mini',
  endpoint: 'https://api.openai.com',
  rule: { name: 'expected', formula: 'Lowest time.', fault: 'It assumes.' },
  requirements: ['a map', 'prices'],
  plans: [plan, { ...plan, rank: 2, behind: true, repairs: 2, notes: [] }],
  refused: [{ candidate: 2, problems: ['It has no task.', 'Say more.'] }],
  notice: 'The judge stammers.',
  notices: [],
  usage,
  known: 1,
};

test('a card has the three rankings, and says which one counts', () => {
  const [card] = cardsOf(plans).cards;
  assert.equal(card?.title, '2 tasks in 2 steps');
  assert.deepEqual(card.figures.map(({ rule, place, counts }) => [rule, place, counts]), [['expected', '1 of 2', true], ['paper', '2 of 2', false], ['code', '1 of 2', false]]);
  assert.equal(card.figures[0]?.values, 'score 293.7, time 12.96');
  assert.equal(card.figures[2]?.values, 'score -0.04191, path parallelism 1');
  assert.deepEqual(card.tasks.map(({ agent }) => agent), ['Writer', '']);
});

test('a card says what is covered, and that it is ranked lower for what is not', () => {
  const [first, second] = cardsOf(plans).cards;
  assert.deepEqual(first?.coverage, {
    summary: 'Covers 1 of 2 requirements',
    lines: [{ requirement: 'a map', tasks: 'check, draft' }, { requirement: 'prices', tasks: '' }],
  });
  assert.equal(second?.coverage?.summary, 'Covers 1 of 2 requirements, so it is ranked lower');
  assert.equal(cardsOf({ ...plans, requirements: null }).cards[0]?.coverage, null);
});

test('corrections, reasons, the ranking and the cost are told', () => {
  const { cards, refused, notes } = cardsOf(plans);
  assert.deepEqual(cards.map((card) => card.notes), [['The model corrected it once.', 'Only `next` says it; it is taken.'], ['The model corrected it 2 times.']]);
  assert.deepEqual(refused, ['Plan 2 can’t be used: It has no task. Say more.']);
  assert.deepEqual(notes, [
    'The judge stammers.',
    'Ranked by “expected”: Lowest time. It assumes.',
    'Planned by gpt-4o-mini at https://api.openai.com: 4 calls (1 known already), 1,200 tokens, $0.0031.',
  ]);
});

test('what was known costs nothing, and the embedded model has a name', () => {
  const free = { ...usage, calls: 0, cost_usd: 0 };
  const offline = { ...plans, plans: [plan], endpoint: 'merrow:offline', usage: free };
  assert.equal(cardsOf({ ...offline, known: 3 }).notes.at(-1), 'Planned by the embedded model (offline); all answers were known already, so no call was made.');
  assert.equal(cardsOf({ ...offline, known: 0 }).notes.at(-1), 'No call was made.');
  assert.equal(cardsOf({ ...offline, known: 0 }).notes.some((note) => note.startsWith('Ranked')), false);
});

test('which model plans is said first', () => {
  const forecast = { endpoint: 'http://localhost:1234', model: 'small', calls: { least: 1, most: 2 }, text: '', mayCost: true, notices: ['Mind the gap.'] };
  assert.equal(aboutText(forecast), 'small at http://localhost:1234 will plan. You are asked first if that may cost more than your settings allow. Mind the gap.');
  assert.equal(aboutText({ ...forecast, endpoint: 'merrow:offline' }), 'Mind the gap.');
});

test('numbers have four digits that say something', () => {
  assert.deepEqual([293.71, 0.0419123, 2, 123456, -1.5].map(shortNumber), ['293.7', '0.04191', '2', '123500', '-1.5']);
});

test('what the fields ask for: blank ones nothing, numbers out of reach the nearest one', () => {
  const blank = { task: ' Bake. ', number: '', roles: ' , ', agents: ' ', tasks: 'many', drawn: false };
  assert.deepEqual(wishOf(blank), { task: 'Bake.', n: 3 });
  const all = { task: 'Bake.', number: '99', roles: 'Baker, Web designer ,', agents: '0', tasks: '7.4', drawn: true };
  assert.deepEqual(wishOf(all), { task: 'Bake.', n: 10, roles: ['Baker', 'Web designer'], maxAgents: 1, maxNodes: 7, form: 'mermaid' });
});
