// Called files: what happens in them is shown at their Call, and in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress } from '../../src/run/progress';
import type { NodeReport, RunEvent, RunReport } from '../../src/run/protocol';
import { reportPicture } from '../../src/run/reportPicture';
import { nothing } from '../../src/run/texts/figures';
import { callOf, pathInside } from '../../src/run/texts/loops';

const event = (name: string, node: string | null = null, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r1', node, path: '', at: 100, ...more });
const states = (progress: Progress) => Object.fromEntries([...progress.states(100)].map(([node, { state }]) => [node, state]));

function progressOf(...events: RunEvent[]): Progress {
  const progress = new Progress('r1', ['IN', 'A', 'B', 'OUT']);
  for (const one of events) progress.take(one);
  return progress;
}

test('a Call asks while anything in its file does, whose nodes are none of the workflow', () => {
  const asked = (path: string, node = 'ASK') => event('node_asked', node, { path, question: 'Is it good?' });
  const progress = progressOf(event('run_started'), event('node_started', 'A'), event('node_finished', 'IN', { path: 'A', usage: nothing, seconds: 0 }), asked('A'), asked('A/DEEP[2]', 'B'));
  assert.deepEqual(states(progress), { IN: 'waiting', A: 'asking', B: 'waiting', OUT: 'waiting' });
  assert.equal(progress.states(100).get('A')?.detail, 'Is it good?');
  progress.take(event('node_answered', 'ASK', { path: 'A' }));
  assert.equal(states(progress)['A'], 'asking');
  progress.take(event('node_answered', 'B', { path: 'A/DEEP[2]' }));
  assert.equal(states(progress)['A'], 'running');
  progress.take(asked('A'));
  progress.take(event('run_waiting'));
  assert.deepEqual(states(progress), { A: 'asking' });

  const inside: NodeReport = { node: 'A/B', id: 'B', path: 'A', operator: 'Human', status: 'unfinished', memory: [], outputs: null, error: null, calls: [] };
  const waiting: RunReport = {
    run: 'r1', workflow: 'flow.mmd', uri: null, diagram: 1, status: 'waiting', started: 0, seconds: 1, error: null, parent: null, inputs: {}, outputs: {}, text: null, lost: [],
    usage: nothing, nodes: [inside],
  };
  assert.deepEqual(Object.fromEntries([...reportPicture(waiting).nodes].map(([node, { state }]) => [node, state])), { A: 'asking' });
});

test('a frame of a called file has the path that it has there', () => {
  assert.deepEqual(['', 'L[2]/PARTS[1]'].map(callOf), [undefined, undefined]);
  const progress = progressOf(event('node_asked', 'B', { path: pathInside('L[2]/SOLVE'), question: 'Is it good?' }));
  assert.equal(states(progress)['B'], 'asking');
  assert.deepEqual([...progress.picture(100).boxes], []);
  assert.deepEqual(callOf('L[2]/SOLVE%2FIT!1#2/DEEP'), { node: 'SOLVE/IT', path: 'L[2]' });
  assert.deepEqual(['A', 'L[2]/A', 'L[2]/A/PARTS[3]', 'A/B/M[1]/N[2]'].map(pathInside), ['A]', 'L(2)]/A]', 'L(2)]/A]/PARTS[3]', 'A]/B]/M[1]/N[2]']);
});
