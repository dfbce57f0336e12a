import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeRun } from '../../src/preview/protocol';
import { Follower } from '../../webview/preview/follower';
import { activeStep } from '../../webview/preview/following';
import { isDiamond, widened } from '../../webview/preview/polygons';

const run = (states: Record<string, NodeRun['state']>) => new Map(Object.entries(states).map(([id, state]): [string, NodeRun] => [id, { state }]));
const NONE = new Map<string, NodeRun>();
const ENDS = new Set(['OUT']);

describe('The step that a picture follows', () => {
  it('is what asks a person, else what runs, and stays while it does', () => {
    assert.equal(activeStep(run({ A: 'running', B: 'asking' }), NONE, 'A', false, ENDS), 'B');
    assert.equal(activeStep(run({ A: 'running', B: 'running' }), NONE, 'A', false, ENDS), 'A');
    assert.equal(activeStep(run({ A: 'finished', B: 'running', C: 'running' }), run({ A: 'running', B: 'waiting', C: 'running' }), 'A', false, ENDS), 'B');
    assert.equal(activeStep(run({ B: 'running', C: 'running' }), run({ B: 'running', C: 'running' }), 'A', false, ENDS), 'C');
    assert.equal(activeStep(run({ A: 'finished', B: 'waiting' }), NONE, 'A', false, ENDS), undefined);
  });

  it('is after the run what failed, else an output', () => {
    assert.equal(activeStep(run({ OUT: 'finished', A: 'failed', B: 'finished' }), NONE, 'B', true, ENDS), 'A');
    assert.equal(activeStep(run({ OUT: 'finished', A: 'cancelled' }), NONE, 'B', true, ENDS), 'A');
    assert.equal(activeStep(run({ OUT: 'finished', A: 'finished' }), NONE, 'B', true, ENDS), 'OUT');
    assert.equal(activeStep(run({ A: 'finished', B: 'reused', C: 'skipped' }), NONE, 'A', true, ENDS), 'B');
    assert.equal(activeStep(NONE, NONE, 'A', true, ENDS), undefined);
  });
});

describe('Following a run', () => {
  const offers: boolean[] = [];
  const begun = () => {
    offers.length = 0;
    const follower = new Follower((offered) => offers.push(offered));
    assert.equal(follower.take('r1', run({ A: 'running', OUT: 'waiting' }), false, ENDS), 'A');
    return follower;
  };

  it('tells each step once', () => {
    const follower = begun();
    assert.equal(follower.take('r1', run({ A: 'running', OUT: 'waiting' }), false, ENDS), undefined);
    assert.equal(follower.take('r1', run({ A: 'finished', OUT: 'running' }), false, ENDS), 'OUT');
    assert.equal(follower.current, 'OUT');
    assert.equal(follower.take('r1', run({ A: 'failed', OUT: 'finished' }), true, ENDS), 'A');
    // After the run the picture stays where it is, whatever is drawn.
    assert.equal(follower.current, undefined);
  });

  it('ends where the user moves the picture, and the way back is offered', () => {
    const follower = begun();
    follower.leave();
    assert.equal(offers.at(-1), true);
    assert.equal(follower.take('r1', run({ A: 'finished', B: 'running' }), false, ENDS), undefined);
    assert.equal(follower.current, undefined);
    assert.equal(follower.comeBack(), 'B');
    assert.equal(offers.at(-1), false);
    follower.leave();
    follower.take('r1', run({ A: 'finished', B: 'finished' }), true, ENDS);
    assert.equal(offers.at(-1), false);
  });

  it('begins again with another run, and with one that is resumed', () => {
    const follower = begun();
    follower.leave();
    assert.equal(follower.take('r2', run({ B: 'running' }), false, ENDS), 'B');
    follower.leave();
    follower.take('r2', run({ B: 'finished' }), true, ENDS);
    assert.equal(follower.take('r2', run({ B: 'finished', C: 'running' }), false, ENDS), 'C');
  });

  it('is not offered while nothing runs, and no run of the journal is followed', () => {
    const follower = new Follower((offered) => offers.push(offered));
    follower.leave();
    assert.equal(follower.take('r1', run({ A: 'finished', OUT: 'finished' }), true, ENDS), undefined);
    assert.equal(follower.current, undefined);
    follower.leave();
    assert.ok(!offers.at(-1));
  });
});

describe('A line around a node', () => {
  const diamond = [[10, 0], [20, 10], [10, 20], [0, 10]] as const;

  it('has the shape of the node', () => {
    assert.ok(isDiamond(diamond));
    assert.ok(!isDiamond([[0, 0], [20, 0], [20, 20], [0, 20]]));
    assert.ok(!isDiamond([[5, 0], [15, 0], [20, 10], [15, 20], [5, 20], [0, 10]]));
    assert.deepEqual(widened(diamond, 5), [[10, -5], [25, 10], [10, 25], [-5, 10]]);
  });
});
