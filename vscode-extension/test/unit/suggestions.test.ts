import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runText, scoreText, suggested, validText, type Suggestion } from '../../src/mutations/suggestion';

const bounds = { calls: { least: 3, most: 6 }, cost_usd: { least: 0, most: 0.00123 } };
const one: Suggestion = {
  id: '1',
  title: 'Check the steps',
  reason: 'Mistakes are in the steps.',
  effect: 'New prompt of SOLVE; samples 3 at CHECK-2',
  scores: { total: 38.5, unsure: true, reason: 'Fits.' },
  run: bounds,
  edits: [],
  delta: { addedNodes: [], removedNodes: [], changedNodes: [], addedEdges: [], removedEdges: [] },
  diagramText: 'flowchart TD\n',
};
const pictures = () => Promise.resolve({ before: '', after: '' });

test('a suggestion says what it changes, what the judge gave it, and what a run would use', () => {
  const now = { calls: { least: 1, most: 1 }, cost_usd: { least: 0, most: null } };
  const proposal = suggested(one, now, 'file:///a', 3, pictures);
  assert.equal(proposal.title, 'Check the steps');
  assert.equal(proposal.kind, 'Best first, as the model judges');
  assert.equal(proposal.effect, 'New prompt of SOLVE; samples 3 at CHECK-2 · 38.5 of 50, unsure');
  assert.deepEqual(proposal.details, [
    'Mistakes are in the steps.',
    'A run: 3 to 6 calls, at most about $0.0012; now 1 call, cost unknown.',
    'The judge: Fits.',
  ]);
  assert.equal(proposal.version, 3);
});

test('nodes whose prompt alone changes are the ones to look at', () => {
  assert.deepEqual(suggested(one, null, 'file:///a', 1, pictures).changed, ['SOLVE', 'CHECK-2']);
  const moved = { ...one, delta: { ...one.delta, addedNodes: [{ id: 'N' }] } };
  assert.deepEqual(suggested(moved, null, 'file:///a', 1, pictures).changed, []);
});

test('what is not known is said to be unknown', () => {
  assert.equal(scoreText(null), 'not judged');
  assert.equal(runText(null), 'calls unknown');
  assert.equal(runText({ calls: { least: 0, most: null }, cost_usd: { least: 0, most: 0 } }), '0 to unknown calls, $0');
  assert.equal(suggested({ ...one, scores: null, reason: '' }, null, 'file:///a', 1, pictures).details?.length, 1);
});

test('how many candidates passed is one sentence', () => {
  assert.equal(validText({ proposed: 4, valid_first: 2, never: 1 }), 'Of 4 candidates 2 were valid at the first try, 3 after repair.');
  assert.equal(validText({ proposed: 0, valid_first: 0, never: 0 }), 'The model suggested nothing.');
});
