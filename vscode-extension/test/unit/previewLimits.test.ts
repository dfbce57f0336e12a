import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Graph } from '../../src/preview/protocol';
import { MOST_CHARACTERS, MOST_PARTS, tooLarge } from '../../webview/preview/limits';

/** Only counted. */
function graph(nodes: number, edges: number, subgraphs: number, characters = 10): Pick<Graph, 'nodes' | 'edges' | 'subgraphs' | 'text'> {
  const many = (count: number) => Array.from({ length: count }, () => ({})) as never[];
  return { nodes: many(nodes), edges: many(edges), subgraphs: many(subgraphs), text: 'x'.repeat(characters) };
}

describe('The size of a flowchart', () => {
  it('is drawn unasked up to the limits', () => {
    assert.equal(tooLarge(graph(MOST_PARTS, 0, 0, MOST_CHARACTERS)), undefined);
    assert.equal(tooLarge(graph(MOST_PARTS - 2, 1, 1)), undefined);
  });

  it('is declined above them, in one sentence with its size, whatever it is made of', () => {
    const words = 'The flowchart has 4,001 nodes, edges and subgraphs; above 4,000, drawing it may take minutes.';
    for (const [nodes, edges, subgraphs] of [[1, 0, 0], [0, 1, 0], [0, 0, 1]] as const) {
      assert.equal(tooLarge(graph(1000 + nodes, 2000 + edges, 1000 + subgraphs)), words);
    }
    assert.match(tooLarge(graph(1, 0, 0, MOST_CHARACTERS + 1)) ?? '', /^The flowchart has 400,001 characters; above 400,000, [^.]+\.$/);
  });
});
