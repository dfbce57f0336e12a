import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Graph } from '../../src/preview/protocol';
import { drawingsOf } from '../../src/revisions/following';
import { byText, differenceLines, effectText, noteOf, revisionItem } from '../../src/revisions/words';
import { lineOf } from '../../src/run/texts/lines';
import { runHtml } from '../../src/run/panel/nodeHtml';
import { Progress } from '../../src/run/progress';
import type { Revision, RunEvent } from '../../src/run/protocol';

const event = (name: string, node: string | null = null, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r1', node, path: '', at: 100, ...more });
const diff = { kept: ['A'], reset: ['B'], added: ['N'], removed: ['X'], changed: ['B', 'C'], renamed: { D2: 'D' }, redone: [], refused: [] };
const applied = (more: Partial<RunEvent> = {}) => event('revision_applied', null, { revision: 1, trigger: 'person', diff, ...more });
const states = (progress: Progress) => Object.fromEntries([...progress.states(100)].map(([node, { state }]) => [node, state]));
const HOSTILE = '<img src=x onerror=alert(1)>\n[x](command:y)';

function progressOf(...events: RunEvent[]): Progress {
  const progress = new Progress('r1', ['A', 'B', 'C', 'D', 'X', 'Y']);
  for (const one of events) progress.take(one);
  return progress;
}

const before = [...['A', 'B', 'D', 'X'].map((node) => event('node_finished', node)), event('node_started', 'C')];

test('nodes are kept, made again, new, renamed and gone as a revision says', () => {
  const progress = progressOf(...before, applied());
  assert.deepEqual(states(progress), { A: 'kept', B: 'reset', C: 'waiting', Y: 'waiting', D2: 'finished', N: 'new', X: 'gone' });
  progress.take(event('node_started', 'B'));
  progress.take(event('node_reused', 'N'));
  assert.deepEqual([states(progress)['B'], states(progress)['N']], ['running', 'reused']);
  progress.take(event('run_finished', null));
  assert.deepEqual(states(progress), { A: 'finished', B: 'cancelled', D2: 'finished', N: 'reused' });
});

test('a node that comes back is gone no more', () => {
  const progress = progressOf(...before, applied());
  progress.take(applied({ revision: 2, diff: { added: ['X'], removed: ['N'] } }));
  assert.deepEqual([states(progress)['X'], states(progress)['N']], ['new', 'gone']);
  assert.equal(progress.revision?.number, 2);
});

test('a revision that waits is the one to decide on, until it is refused', () => {
  const progress = progressOf(applied(), event('revision_waiting', null, { revision: 2, trigger: 'every', reason: 'Better.' }));
  assert.deepEqual([progress.revision?.number, progress.revision?.waits, progress.revision?.by], [2, true, 'by the model']);
  progress.take(event('revision_refused', null, { revision: 3, trigger: 'person', reason: 'No.' }));
  assert.deepEqual([progress.revision?.number, progress.revision?.waits], [2, true], 'another one was refused');
  progress.take(event('revision_refused', null, { revision: 2, trigger: 'every', reason: 'No.' }));
  assert.deepEqual([progress.revision?.number, progress.revision?.waits], [1, false]);
  assert.deepEqual(progress.whole.revisions.map(({ revision, state }) => [revision, state]), [[1, 'applied'], [2, 'refused'], [3, 'refused']]);
});

test('what a revision cancelled waits, unless it has begun again', () => {
  const graph = { text: 'now', nodes: [] } as unknown as Graph;
  const progress = progressOf(event('node_started', 'Y', { number: 1 }), event('node_started', 'C', { number: 2 }), applied({ diff: {}, number: 3 }), event('node_started', 'C', { number: 4 }));
  progress.draw(graph, { ...graph, text: 'with gone' }, ['Y', 'C']);
  assert.deepEqual([states(progress)['Y'], states(progress)['C']], ['waiting', 'running']);
  assert.equal(progress.picture(100).revised?.text, 'with gone');
  progress.take(event('run_finished'));
  assert.equal(progress.picture(100).revised?.text, 'now');
});

test('the drawing without what is gone has neither its nodes nor its text', () => {
  const node = (id: string) => ({ id });
  const drawing = { text: 'A\nB', nodes: [node('A'), node('B')] } as unknown as Graph;
  const report = { run: 'r1', revision: 1, state: 'applied', trigger: 'person', reason: null, at: 0, diff: {}, uri: null, diagram: 2, text: 'A', before: 'B', drawing, ghosts: ['B'] } as const;
  const drawings = drawingsOf(report);
  assert.deepEqual([drawings?.now.text, drawings?.now.nodes.length, drawings?.withGone.nodes.length, drawings?.now.diagram], ['A', 1, 2, 2]);
  assert.equal(drawingsOf({ ...report, text: null, drawing: null }), undefined);
});

test('a revision is told in words', () => {
  assert.equal(effectText(diff), '1 kept, 1 reset, 1 changed, 1 new, 1 gone, 1 renamed');
  assert.equal(effectText({}), '');
  assert.deepEqual(differenceLines(diff), ['kept: A', 'reset: B', 'changed: C', 'new: N', 'gone: X', 'renamed: D2 (was D)']);
  assert.deepEqual([byText('person'), byText('failure'), byText('every')], ['by a person', 'by the model, after a failure', 'by the model']);
  assert.equal(lineOf(applied({ reason: 'So.' })), 'Revision 1 (by a person) applied: 1 kept, 1 reset, 1 changed, 1 new, 1 gone, 1 renamed; So.');
  assert.equal(lineOf(event('revision_refused', null, { revision: 2, trigger: 'every', reason: 'No.' })), 'Revision 2 (by the model) refused: No.');
  assert.equal(lineOf(event('revision_opened', null, { revision: 2, trigger: 'every' })), undefined);
});

test('a revision in the tree says who wanted it, what it does and why', () => {
  const revision: Revision = { revision: 3, state: 'applied', trigger: 'failure', reason: HOSTILE, at: 0, diff };
  const item = revisionItem('r1', revision);
  assert.equal(item.description, 'by the model, after a failure · 1 kept, 1 reset, 1 changed, 1 new, 1 gone, 1 renamed · <img src=x onerror=alert(1)> [x](command:y)');
  assert.equal(item.context, 'revision.applied');
  assert.match(item.tooltip, /^Revision 3 of run r1\nby the model/);
  assert.equal(revisionItem('r1', { ...revision, state: 'refused', diff: {} }).context, 'revision.refused');
});

test('the words of a model are text, in one line, and not too long', () => {
  const revisions: Revision[] = [{ revision: 1, state: 'applied', trigger: 'every', reason: HOSTILE, at: 0, diff: {} }];
  const whole = { ...new Progress('r1').whole, by: '', revisions };
  const html = runHtml('flow.mmd', whole, undefined);
  assert.ok(html.includes('&lt;img src=x'));
  assert.ok(!html.includes('<img'));
  assert.equal(noteOf(event('revision_applied', null, { reason: `a\n${'b'.repeat(500)}` })).reason.length, 160);
});
