import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GraphEdge, GraphNode, NodeRun } from '../../src/preview/protocol';
import { changedNodes, withStale } from '../../src/preview/stale';

const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
const node = (id: string, label: string, kind: GraphNode['kind'] = 'operator'): GraphNode => ({ id, kind, operator: 'Custom', style: null, label, range, places: [range], diagnostics: [] });
const edge = (source: string, target: string, label: string | null = null): GraphEdge => ({
  id: `L_${source}_${target}_0`, source, target, label, range, output: null, port: label, type: null, case: null, word: null, box: null, drawn: true, diagnostics: [],
});
const HEAD = '---\ntitle: One\nworkflow:\n  prompts: {a: x}\n---\n';
const flow = (labels: Record<string, string>, edges: GraphEdge[], text = `${HEAD}flowchart LR`) => ({
  text,
  nodes: Object.entries(labels).map(([id, label]) => node(id, label, id === 'IN' ? 'input' : 'operator')),
  edges,
});
const LABELS = { IN: 'in', A: 'a', B: 'b', C: 'c' };
const EDGES = [edge('IN', 'A'), edge('A', 'B'), edge('IN', 'C')];
const THEN = flow(LABELS, EDGES);
const changed = (now: ReturnType<typeof flow>) => [...changedNodes(THEN, now)].sort();

describe('What the text has moved away from since a run', () => {
  it('is nothing while only places, comments and the title change', () => {
    const now = flow(LABELS, [...EDGES].reverse(), `${HEAD.replace('One', 'Two')}flowchart LR\n%% note`);
    assert.deepEqual(changed({ ...now, nodes: now.nodes.map((one) => ({ ...one, range: { start: range.end, end: range.end } })) }), []);
  });

  it('is a node that says something else, and what works on its result', () => {
    assert.deepEqual(changed(flow({ ...LABELS, A: 'other' }, EDGES)), ['A', 'B']);
  });

  it('is a node that is fed otherwise, and one that is new', () => {
    assert.deepEqual(changed(flow(LABELS, [edge('IN', 'A'), edge('A', 'B', 'port'), edge('IN', 'C')])), ['B']);
    assert.deepEqual(changed(flow({ ...LABELS, D: 'd' }, [...EDGES, edge('D', 'C')])), ['C', 'D']);
  });

  it('is every node that works, where prompts or types changed', () => {
    assert.deepEqual(changed(flow(LABELS, EDGES, `${HEAD.replace('a: x', 'a: y')}flowchart LR`)), ['A', 'B', 'C']);
  });

  it('goes round a cycle once', () => {
    const round = [...EDGES, edge('B', 'A')];
    assert.deepEqual([...changedNodes(flow(LABELS, round), flow({ ...LABELS, B: 'other' }, round))].sort(), ['A', 'B']);
  });

  it('makes stale what finished or was reused, with its figures, and nothing else', () => {
    const run = new Map<string, NodeRun>([
      ['A', { state: 'finished', detail: '1 s' }],
      ['B', { state: 'failed' }],
      ['C', { state: 'reused' }],
    ]);
    const now = flow({ ...LABELS, A: 'other', C: 'other' }, EDGES);
    assert.deepEqual(Object.fromEntries(withStale(run, THEN, now)), { A: { state: 'stale', detail: '1 s' }, B: { state: 'failed' }, C: { state: 'stale' } });
    assert.equal(withStale(run, THEN, THEN), run);
  });
});
