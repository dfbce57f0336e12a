import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunEvent, RunReport } from '../../src/run/protocol';
import { runHtml } from '../../src/run/panel/nodeHtml';
import { Progress } from '../../src/run/progress';
import { reportPicture } from '../../src/run/reportPicture';
import { lineOf } from '../../src/run/texts/lines';

const event = (name: string, node: string, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r1', node, path: '', at: 100, ...more });
const turn = (name: string, number: number) => event(`turn_${name}`, 'REFINE', { turn: number, of: 4 });
const ended = (path: string, more: Partial<RunEvent> = {}) => event('loop_ended', 'REFINE', { path, turns: 3, why: 'turns', of: 3, stopped: true, ...more });

function progressOf(...events: RunEvent[]): Progress {
  const progress = new Progress('r1', ['WRITE']);
  for (const one of events) progress.take(one);
  return progress;
}

test('a Loop that was stopped says so in the picture, the panel and the output, until it goes on', () => {
  const progress = progressOf(turn('started', 3), turn('finished', 3), ended('REFINE', { replaced: [{ at: 'CHECK', answer: 'no', taken: 'yes' }] }));
  assert.deepEqual(progress.picture(100).boxes.get('REFINE')?.stopped, { turns: 3, why: 'turns', taken: [{ at: 'CHECK', case: 'yes' }] });
  assert.deepEqual(progress.whole.stopped, ['Loop REFINE stopped after 3 turns: its turns ran out.']);
  assert.ok(runHtml('flow.mmd', { ...progress.whole, by: '' }, undefined).includes('Loop REFINE stopped after 3 turns'));
  assert.equal(lineOf(ended('PARTS[2]/REFINE', { turns: 1, why: 'budget' })), 'Loop PARTS[2]/REFINE stopped after 1 turn: its budget was used up.');
  assert.equal(lineOf(ended('REFINE', { why: 'case', stopped: false })), undefined);
  progress.take(turn('started', 4));
  assert.equal(progress.picture(100).boxes.get('REFINE')?.stopped, undefined);
  assert.deepEqual(progress.whole.stopped, []);
});

test('a Loop of a called file is told of and is no box of the workflow', () => {
  const progress = progressOf(turn('started', 1), ended('SOLVE/REFINE'));
  assert.equal(progress.picture(100).boxes.get('REFINE')?.stopped, undefined);
  assert.equal(progress.whole.stopped.length, 1);
});

test('a run of the journal shows the Loops that were stopped', () => {
  const loops = [{ path: 'PARTS[1]/REFINE', turns: 2, why: 'case' }, { path: 'PARTS[2]/REFINE', turns: 4, why: 'turns' }, { path: 'ROUNDS', turns: 2, why: 'turns' }];
  const nodes = ['PARTS[2]/REFINE[4]', 'ROUNDS[2]'].map((path) => ({ node: `${path}/A`, id: 'A', path, status: 'finished', memory: [], outputs: {}, error: null, calls: [] }));
  const report: RunReport = {
    run: 'r1', workflow: 'flow.mmd', uri: null, diagram: 1, status: 'finished', started: 0, seconds: 1, error: null, parent: null, inputs: {}, outputs: {}, text: null, lost: [],
    usage: { prompt_tokens: 0, completion_tokens: 0, calls: 0, cost_usd: 0 }, nodes, loops, exhausted: ['PARTS[2]/REFINE'],
  };
  const { boxes } = reportPicture(report);
  assert.deepEqual([...boxes].map(([box, { stopped }]) => [box, stopped?.turns]), [['PARTS', undefined], ['REFINE', 4], ['ROUNDS', undefined]]);
});
