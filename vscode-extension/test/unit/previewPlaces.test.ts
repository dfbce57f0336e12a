import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partAt, placeOf } from '../../src/preview/places';
import type { Graph, GraphEdge, GraphNode, Range } from '../../src/preview/protocol';

function range(line: number, from: number, to: number, end = line): Range {
  return { start: { line, character: from }, end: { line: end, character: to } };
}

function node(id: string, ...places: [Range, ...Range[]]): GraphNode {
  return { id, kind: 'operator', operator: 'Custom', style: null, label: null, range: places[0], places, diagnostics: [] };
}

function edge(id: string, source: string, target: string, place: Range): GraphEdge {
  return { id, source, target, label: null, range: place, output: null, port: null, type: null, case: null, word: null, box: null, drawn: true, diagnostics: [] };
}

/**
 * flowchart LR
 *     A[One] --> B --> A
 *
 *     C@{ label: "x",
 *       op: Custom }
 *     subgraph S
 */
const graph: Graph = {
  uri: 'file:///a.mmd',
  version: 1,
  diagram: 1,
  diagrams: 1,
  range: range(0, 0, 0, 6),
  text: '',
  kind: 'flowchart',
  workflow: true,
  why: null,
  direction: 'LR',
  nodes: [node('A', range(1, 4, 10), range(1, 21, 22)), node('B', range(1, 15, 16)), node('C', range(3, 4, 18, 4))],
  edges: [edge('L_A_B_0', 'A', 'B', range(1, 11, 14)), edge('L_B_A_0', 'B', 'A', range(1, 17, 20))],
  subgraphs: [{ id: 'S', title: 'S', operator: null, range: range(5, 13, 14) }],
  diagnostics: [],
};

function at(line: number, character: number): string | undefined {
  const part = partAt(graph, { line, character });
  return part && `${part.kind} ${part.id}`;
}

describe('the part where the cursor is', () => {
  it('is the node or edge that is written there', () => {
    assert.equal(at(1, 5), 'node A');
    assert.equal(at(1, 12), 'edge L_A_B_0');
    assert.equal(at(1, 15), 'node B');
    assert.equal(at(1, 18), 'edge L_B_A_0');
    assert.equal(at(1, 22), 'node A');
    assert.equal(at(5, 14), 'subgraph S');
  });

  it('is a node rather than the edge that touches it', () => {
    assert.equal(at(1, 10), 'node A');
  });

  it('is the nearest node of the line elsewhere', () => {
    assert.equal(at(1, 0), 'node A');
    assert.equal(at(1, 40), 'node A');
  });

  it('spans lines', () => {
    assert.equal(at(4, 0), 'node C');
  });

  it('is none in a line without any', () => {
    assert.equal(at(0, 3), undefined);
    assert.equal(at(2, 0), undefined);
  });
});

describe('the place of a part', () => {
  it('is where it is declared', () => {
    assert.deepEqual(placeOf(graph, { kind: 'node', id: 'A' }), range(1, 4, 10));
    assert.deepEqual(placeOf(graph, { kind: 'edge', id: 'L_B_A_0' }), range(1, 17, 20));
    assert.deepEqual(placeOf(graph, { kind: 'subgraph', id: 'S' }), range(5, 13, 14));
  });

  it('is that of the subgraph where one is drawn as a node', () => {
    assert.deepEqual(placeOf(graph, { kind: 'node', id: 'S' }), range(5, 13, 14));
  });

  it('is none where the text has no such part any more', () => {
    assert.equal(placeOf(graph, { kind: 'node', id: 'Z' }), undefined);
  });
});
