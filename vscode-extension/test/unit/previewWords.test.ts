import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tooLong, MOST_CHARACTERS } from '../../webview/preview/limits';
import type { BoxRun, Graph, GraphEdge, NodeRun } from '../../src/preview/protocol';
import { about, badge, isLit, notWorkflow, takenAtTheEnd } from '../../webview/preview/words';

const NODES = [{}] as never[];

describe('The words of the preview', () => {
  it('say why a flowchart is only drawn', () => {
    const graph = { kind: 'flowchart', nodes: NODES, workflow: false, why: 'it has no PROBLEM or RETURN' } as const;

    assert.equal(notWorkflow(graph), 'Not a workflow: it has no PROBLEM or RETURN.');
    assert.match(notWorkflow({ ...graph, asDrawn: true }) ?? '', /^A drawing: /);
    assert.equal(notWorkflow({ ...graph, workflow: true, why: null }), undefined);
    assert.equal(notWorkflow({ ...graph, kind: 'other' }), undefined);
    assert.equal(notWorkflow({ ...graph, nodes: [] }), undefined);
  });

  it('say whose results a step remembers', () => {
    const node = { id: 'CHECK', kind: 'operator', operator: 'Custom', diagnostics: [], remembers: ['PLAN', 'DRAFT'] };
    const graph = { nodes: [node], edges: [], subgraphs: [] } as unknown as Graph;
    const lines = (one: Graph) => about({ kind: 'node', id: 'CHECK' }, { graph: one, run: new Map(), boxes: new Map(), edges: new Map(), folds: new Map() })?.lines;

    assert.deepEqual(lines(graph), ['Custom', 'Remembers the results of PLAN, DRAFT']);
    assert.deepEqual(lines({ ...graph, nodes: [{ ...node, remembers: undefined }] } as unknown as Graph), ['Custom']);
  });

  it('say which turn or item runs, and afterwards how many there were', () => {
    const running = { begun: 2, ended: 1, of: 4, running: true };

    assert.equal(badge({ operator: 'Loop' }, running), 'turn 2 of 4');
    assert.equal(badge({ operator: 'Map' }, { begun: 9, ended: 7, of: 12, running: true }), '7 of 12 items');
    assert.equal(badge({ operator: 'Loop' }, { begun: 1, ended: 1, running: false }), '1 turn');
    assert.equal(badge({ operator: 'Map' }, { begun: 12, ended: 12, of: 12, running: false }), '12 items');
  });

  it('light the edges that brought something to the turn that runs', () => {
    const edge = { source: 'CHECK', target: 'WRITE', word: 'again', box: 'REFINE', case: 'no' } as GraphEdge;
    const at = (begun: number, running = true): Map<string, BoxRun> => new Map([['REFINE', { begun, ended: begun - 1, of: 4, running }]]);
    const chose = (name: string): Map<string, NodeRun> => new Map([['CHECK', { state: 'finished', case: name }]]);

    assert.ok(isLit(edge, chose('No'), at(2)));
    assert.ok(!isLit(edge, chose('yes'), at(2)));
    assert.ok(!isLit(edge, chose('no'), at(1)));
    assert.ok(!isLit(edge, chose('no'), at(2, false)));
    assert.ok(!isLit({ ...edge, word: null }, chose('no'), at(2)));
    assert.ok(isLit({ ...edge, case: null }, new Map(), at(2)));
  });

  it('say that a Loop was stopped', () => {
    const stopped = { turns: 3, why: 'turns', taken: [] };

    assert.equal(badge({ operator: 'Loop' }, { begun: 3, ended: 3, running: false, stopped }), 'turns ran out after turn 3');
    assert.equal(badge({ operator: 'Loop' }, { begun: 1, ended: 0, of: 3, running: true, stopped }), 'turn 1 of 3');
  });

  it('know the edges that were taken when turns ran out', () => {
    const edge = (id: string, more: Partial<GraphEdge>): GraphEdge => ({ id, source: 'WRITE', target: 'END', word: null, case: null, drawn: true, left: ['REFINE'], ...more }) as GraphEdge;
    const plain = edge('plain', {});
    const over = edge('over', { word: 'over' });
    const yes = edge('yes', { source: 'CHECK', case: 'yes' });
    const others = [edge('inside', { left: [] }), edge('elsewhere', { word: 'over', left: ['OTHER'] })];
    const taken = (edges: GraphEdge[], ways: readonly { at: string; case: string }[] = []): string[] =>
      [...takenAtTheEnd({ edges: [...edges, ...others] }, new Map([['REFINE', { begun: 3, ended: 3, running: false, stopped: { turns: 3, why: 'turns', taken: ways } }]]))];

    assert.deepEqual(taken([plain, over, yes]), ['over']);
    assert.deepEqual(taken([plain, yes]), ['plain']);
    assert.deepEqual(taken([yes], [{ at: 'CHECK', case: 'yes' }]), ['yes']);
    assert.deepEqual([...takenAtTheEnd({ edges: [over] }, new Map([['REFINE', { begun: 1, ended: 1, running: false }]]))], []);
  });

  it('decline a text beyond the limit, whatever is in it', () => {
    assert.equal(tooLong('x'.repeat(MOST_CHARACTERS)), undefined);
    assert.match(tooLong('x'.repeat(MOST_CHARACTERS + 1)) ?? '', /characters; above/);
  });
});
