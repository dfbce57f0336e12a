import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { following, found } from '../../webview/preview/finding';
import { nodeWords, publishedStyles } from '../../webview/preview/words';
import type { GraphNode } from '../../src/preview/protocol';

function node(id: string, label: string | null, operator: string | null = null): GraphNode {
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
  return { id, kind: 'operator', operator, style: null, label, range, places: [], diagnostics: [] };
}

const NODES = [
  { ...node('PROBLEM', 'Problem', 'Interface'), kind: 'input' as const },
  node('SOLVE', 'Custom<br/>(role: careful_solver)', 'Custom'),
  node('CHECK', 'Custom<br/>(role: check)', 'Custom'),
  node('VOTE', 'All&nbsp;of them', 'ScEnsemble'),
  node('PLAIN', null),
];

describe('A search', () => {
  it('finds nodes by id, label and operator, in any case and the order of the text', () => {
    assert.deepEqual(found(NODES, 'solve'), ['SOLVE']);
    assert.deepEqual(found(NODES, 'CUSTOM'), ['SOLVE', 'CHECK']);
    assert.deepEqual(found(NODES, 'scens'), ['VOTE']);
    assert.deepEqual(found(NODES, 'plain'), ['PLAIN']);
  });

  it('finds what has all the words, and nothing without any', () => {
    assert.deepEqual(found(NODES, 'custom  check'), ['CHECK']);
    assert.deepEqual(found(NODES, 'custom vote'), []);
    assert.deepEqual(found(NODES, '  '), []);
    assert.deepEqual(found(NODES, 'br/'), []);
  });

  it('goes round in both directions', () => {
    assert.equal(following(['A', 'B', 'C'], 'C', 1), 'A');
    assert.equal(following(['A', 'B', 'C'], 'A', -1), 'C');
    assert.equal(following(['A', 'B'], undefined, 1), 'A');
    assert.equal(following(['A', 'B'], 'gone', -1), 'B');
    assert.equal(following([], 'A', 1), undefined);
  });
});

describe('The ids in the drawing', () => {
  it('are below the labels of a workflow that say something else', () => {
    assert.deepEqual(Object.keys(nodeWords({ workflow: true, nodes: NODES }).captions), ['SOLVE', 'CHECK', 'VOTE']);
    assert.deepEqual(nodeWords({ workflow: false, nodes: NODES }), { labels: {}, captions: {} });
  });

  it('come with the style of the operator, but in high contrast', () => {
    const nodes = [{ ...node('A', 'Custom'), style: 'fill:#fff,stroke:#000' }, node('B', 'Other')];
    assert.deepEqual(publishedStyles({ workflow: true, nodes }, false), { A: ['fill:#fff', 'stroke:#000'] });
    assert.deepEqual(publishedStyles({ workflow: true, nodes }, true), {});
    assert.deepEqual(publishedStyles({ workflow: false, nodes }, false), {});
  });

  it('are words and no HTML', () => {
    const [html = ''] = Object.values(nodeWords({ workflow: true, nodes: [node('<img src=x>&', 'Other')] }).captions);
    assert.ok(html.includes('&lt;img src=x&gt;&amp;') && !html.includes('<img'));
  });
});
