import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BoxRun, Graph, GraphEdge, GraphNode, NodeRun } from '../../src/preview/protocol';
import { shownValues } from '../../src/preview/values';
import { edgeRuns, joined, kindOf } from '../../webview/preview/ways';
import { about, detailOf, nodeWords, spokenEdge, titleOf } from '../../webview/preview/words';

const edge = (id: string, more: Partial<GraphEdge> = {}): GraphEdge => ({ id, source: 'A', target: 'B', output: null, port: null, case: null, word: null, box: null, left: [], drawn: true, diagnostics: [], ...more }) as unknown as GraphEdge;
const ways = (edges: GraphEdge[], run: Record<string, NodeRun>, boxes: Record<string, BoxRun> = {}, isOver = false) =>
  Object.fromEntries([...edgeRuns({ edges }, new Map(Object.entries(run)), new Map(Object.entries(boxes)), isOver)].map(([id, { way }]) => [id, way]));

describe('An edge of a run', () => {
  it('is taken once its source gave something, and left where nothing comes from it', () => {
    const one = [edge('e')];
    for (const state of ['finished', 'reused', 'kept', 'stale'] as const) assert.deepEqual(ways(one, { A: { state }, B: { state: 'waiting' } }), { e: 'taken' }, state);
    for (const state of ['skipped', 'failed', 'cancelled', 'gone'] as const) assert.deepEqual(ways(one, { A: { state } }), { e: 'left' }, state);
    for (const state of ['waiting', 'running', 'asking', 'new', 'reset'] as const) assert.deepEqual(ways(one, { A: { state } }), {}, state);
    assert.deepEqual(ways(one, { A: { state: 'finished' }, B: { state: 'skipped' } }), { e: 'left' });
    assert.deepEqual(ways([edge('e', { drawn: false })], { A: { state: 'finished' } }), {});
    assert.deepEqual(ways(one, {}), {});
  });

  it('from a node that a run never came to is left when it is over', () => {
    assert.deepEqual(ways([edge('e')], { C: { state: 'finished' } }), {});
    assert.deepEqual(ways([edge('e')], { C: { state: 'finished' } }, {}, true), { e: 'left' });
  });

  it('of a Decision is taken for any case that it chose', () => {
    const edges = [edge('yes', { case: 'yes' }), edge('no', { case: 'no' })];
    assert.deepEqual(ways(edges, { A: { state: 'finished', case: 'Yes', cases: { Yes: 1 } } }), { yes: 'taken', no: 'left' });
    assert.deepEqual(ways(edges, { A: { state: 'finished', case: 'yes', cases: { yes: 1, no: 2 } } }), { yes: 'taken', no: 'taken' });
    assert.deepEqual(ways(edges, { A: { state: 'running', cases: { no: 1 } } }), { no: 'taken' });
  });

  it('of a Loop that runs may still be taken', () => {
    const edges = [edge('yes', { case: 'yes', left: ['LOOP'] }), edge('no', { case: 'no', word: 'again', box: 'LOOP' }), edge('over', { word: 'over', left: ['LOOP'] })];
    const run: Record<string, NodeRun> = { A: { state: 'finished', case: 'no', cases: { no: 1 } } };
    const box = (begun: number, running: boolean, more: Partial<BoxRun> = {}) => ({ LOOP: { begun, ended: begun, running, ...more } });
    assert.deepEqual(ways(edges, run, box(1, true)), {});
    assert.deepEqual(ways(edges, run, box(2, true)), { no: 'taken' });
    assert.deepEqual(ways(edges, { A: { state: 'finished', case: 'yes', cases: { no: 1, yes: 1 } } }, box(2, false)), { yes: 'taken', no: 'taken', over: 'left' });
    const stopped = { stopped: { turns: 2, why: 'turns', taken: [] } };
    assert.deepEqual(ways(edges, run, box(2, false, stopped)), { yes: 'left', no: 'taken', over: 'taken' });
    assert.deepEqual(ways(edges, run, box(1, false)), { yes: 'left', no: 'left', over: 'left' });
  });

  it('out of a Loop is taken when the Loop is over', () => {
    const leaving = [edge('e', { left: ['LOOP'] })];
    const run: Record<string, NodeRun> = { A: { state: 'finished' } };
    assert.deepEqual(ways(leaving, run, { LOOP: { begun: 1, ended: 0, running: true } }), {});
    assert.deepEqual(ways(leaving, run, { LOOP: { begun: 1, ended: 1, running: false } }), { e: 'taken' });
  });

  it('carries the value of its output, or of the only one', () => {
    const run = new Map<string, NodeRun>([['A', { state: 'finished', values: { ok: 'true', advice: 'Shorter.' }, times: 3 }], ['C', { state: 'finished', values: { output: '4' }, times: 1 }]]);
    const runs = edgeRuns({ edges: [edge('one', { output: 'advice' }), edge('two', { source: 'C', output: 'other' }), edge('three')] }, run, new Map(), false);
    assert.deepEqual(runs.get('one'), { way: 'taken', value: 'Shorter.', times: 3 });
    assert.equal(runs.get('two')?.value, '4');
    assert.equal(runs.get('three')?.value, undefined);
  });

  it('of a Decision carries what came to the port of its value', () => {
    const run = new Map<string, NodeRun>([['IN', { state: 'finished', values: { value: 'Letter' }, times: 1 }], ['A', { state: 'finished', case: 'yes', cases: { yes: 1 } }]]);
    const into = edge('in', { source: 'IN', target: 'A', port: 'value' });
    const value = (more: Partial<GraphEdge>, given = into) => edgeRuns({ edges: [given, edge('yes', { case: 'yes', ...more })] }, run, new Map(), true).get('yes')?.value;
    assert.equal(value({ port: 'input' }), 'Letter');
    assert.equal(value({ port: 'after' }), undefined);
    assert.equal(value({ port: 'input' }, edge('in', { source: 'IN', target: 'A', port: 'when' })), undefined);
    // Two Decisions that would pass on each other's value end nothing.
    assert.equal(value({ port: 'input' }, edge('in', { source: 'A', target: 'A', port: 'value', case: 'yes' })), undefined);
  });

  it('that stands for several is taken where any of them is', () => {
    assert.deepEqual(joined([{ way: 'left', value: undefined, times: 0 }, { way: 'taken', value: '4', times: 1 }, { way: 'taken', value: '5', times: 2 }]), { way: 'taken', value: '5', times: 3 });
    assert.equal(joined([{ way: 'left', value: undefined, times: 0 }])?.way, 'left');
    assert.equal(joined([]), undefined);
  });

  it('is told by its answer or its word', () => {
    const kinds = [{ case: ' Yes', word: null }, { case: 'no', word: null }, { case: 'no', word: 'again' }, { case: null, word: 'over' }, { case: 'math', word: null }, { case: null, word: 'each' }];
    assert.deepEqual(kinds.map(kindOf), ['yes', 'no', 'again', 'over', undefined, undefined]);
  });
});

describe('The words of a run', () => {
  const graph = { nodes: [], subgraphs: [], edges: [edge('e', { output: 'output', port: 'input', type: 'Text' })] } as unknown as Graph;
  const shown = (value: NodeRun) => ({ graph, run: new Map(), boxes: new Map(), folds: new Map(), edges: edgeRuns(graph, new Map([['A', value]]), new Map(), true) });

  it('say what passed along an edge', () => {
    const part = { kind: 'edge', id: 'e' } as const;
    assert.deepEqual(about(part, shown({ state: 'finished', values: { output: '<b>4</b>' }, times: 1 }))?.passed, { words: 'Taken with', value: '<b>4</b>' });
    assert.deepEqual(about(part, shown({ state: 'finished', values: { output: '4' }, times: 3 }))?.passed, { words: 'Taken 3 times, last with', value: '4' });
    assert.deepEqual(about(part, shown({ state: 'skipped' }))?.passed, { words: 'Not taken', value: undefined });
    assert.equal(about(part, shown({ state: 'running' }))?.passed, undefined);
    assert.equal(spokenEdge(part, shown({ state: 'finished', values: { output: '4' }, times: 1 })), 'A → B, output → input: Text, Taken with: 4');
  });

  it('say which case a Decision chose', () => {
    assert.equal(detailOf({ kind: 'decision' }, { state: 'finished', case: 'yes', cases: { yes: 1 }, detail: '1 s' }), '→ yes · 1 s');
    assert.equal(detailOf({ kind: 'decision' }, { state: 'finished', case: 'yes', cases: { no: 2, yes: 1 } }), '→ yes (before: no 2×)');
    assert.equal(detailOf({ kind: 'operator' }, { state: 'finished', detail: '1 s' }), '1 s');
  });

  it('say a role first, and the operator small', () => {
    const node = (more: Partial<GraphNode>) => ({ id: 'SORT', kind: 'operator', operator: 'Custom', label: 'Custom<br/>(role: billing)', diagnostics: [], ...more }) as unknown as GraphNode;
    const words = (more: Partial<GraphNode>) => { const { labels, captions } = nodeWords({ workflow: true, nodes: [node(more)] }); return [labels['SORT'], captions['SORT']?.replace(/<span[^>]*>|<\/span>/g, '')]; };
    assert.deepEqual(words({ title: 'billing' }), ['billing', 'Custom · SORT']);
    assert.deepEqual(words({ title: 'sort' }), ['sort', 'Custom']);
    assert.deepEqual(words({ title: 'billing', settings: 'returns: <T>' }), ['billing', 'Custom (returns: &lt;T&gt;)<br/>SORT']);
    assert.deepEqual(words({ title: null, label: 'Which kind?' }), [undefined, 'Custom · SORT']);
    assert.deepEqual(words({ title: null, label: 'Custom<br/>' }), [undefined, 'SORT']);
    assert.deepEqual(words({ kind: 'decision', operator: 'Decision', label: 'Good?' }), [undefined, 'SORT']);
    assert.deepEqual(words({ title: `<img>${'x'.repeat(90)}` })[0]?.length, '&lt;img&gt;'.length + 55);
    assert.equal(titleOf({ id: 'A', title: null, label: '<b>Draft</b>' }), 'Draft');
  });

  it('show the beginnings of values', () => {
    assert.deepEqual(shownValues({ output: 'four', list: [1, 2], none: null, text: '' }), { output: 'four', list: '[1,2]', none: 'null', text: '' });
    const long = shownValues({ output: 'x'.repeat(1_000_000), list: Array.from({ length: 100_000 }, () => 'y') });
    assert.deepEqual(Object.values(long ?? {}).map(({ length }) => length), [300, 300]);
    assert.equal(Object.keys(shownValues(Object.fromEntries(Array.from({ length: 50 }, (_, number) => [`o${number}`, 1]))) ?? {}).length, 8);
    assert.equal(shownValues({}), undefined);
    assert.equal(shownValues(undefined), undefined);
  });
});
