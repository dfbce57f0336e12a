import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proposalOf, totalText, type Move } from '../../src/mutations/moves';
import { byKind, edited, type Edit } from '../../src/mutations/proposal';

const edit = (line: number, start: number, end: number, newText: string, endLine = line): Edit => ({
  range: { start: { line, character: start }, end: { line: endLine, character: end } },
  newText,
});

test('edits are all about the text as it was, in whatever order they come', () => {
  const text = 'one\r\ntwo\nthree\n';
  assert.equal(edited(text, [edit(2, 0, 5, '3'), edit(0, 0, 3, '1')]), '1\r\ntwo\n3\n');
  assert.equal(edited(text, [edit(1, 3, 3, ' and a half'), edit(1, 0, 0, 'about ')]), 'one\r\nabout two and a half\nthree\n');
  assert.equal(edited(text, [edit(0, 3, 0, ' ', 1)]), 'one two\nthree\n');
});

test('insertions at one place keep their order, and places behind the end are the end', () => {
  assert.equal(edited('ab', [edit(0, 1, 1, 'x'), edit(0, 1, 1, 'y')]), 'axyb');
  assert.equal(edited('ab', [edit(9, 0, 0, '!')]), 'ab!');
  assert.equal(edited('ab', []), 'ab');
});

const move = (operator: string, delta: Partial<Move['delta']>): Move => ({
  id: '1',
  operator,
  title: 'A move',
  effect: 'Does something',
  edits: [],
  delta: { addedNodes: [], removedNodes: [], changedNodes: [], addedEdges: [], removedEdges: [], ...delta },
});
const pictures = () => Promise.resolve({ before: '', after: '' });

test('a proposal names the nodes to look at; where only edges change, those at their ends', () => {
  const of = (delta: Partial<Move['delta']>) => {
    const { added, removed, changed } = proposalOf(move('rewiring', delta), 'file:///a', 1, { pictures });
    return { added, removed, changed };
  };
  const edge = { source: 'A', target: 'B' };
  assert.deepEqual(of({ addedNodes: [{ id: 'N' }], addedEdges: [edge] }), { added: ['N'], removed: [], changed: [] });
  assert.deepEqual(of({ changedNodes: [{ before: { id: 'A' }, after: { id: 'A' } }] }), { added: [], removed: [], changed: ['A'] });
  assert.deepEqual(of({ addedEdges: [edge], removedEdges: [{ source: 'C', target: 'B' }] }), { added: [], removed: [], changed: ['A', 'B', 'C'] });
});

test('totals are said as far as they are known', () => {
  assert.equal(totalText({ least: 50, most: 50 }), '50');
  assert.equal(totalText({ least: 50, most: 900 }), '50 to 900');
  assert.equal(totalText({ least: 50, most: null }), '50 or more');
});

test('proposals are listed by kind, an operator without a name of its own by its id', () => {
  const kinds = ['addition', 'deletion', 'addition', 'newcomer'].map((operator) => proposalOf(move(operator, {}), 'file:///a', 1, { pictures }));
  assert.deepEqual([...byKind(kinds)].map(([kind, group]) => [kind, group.length]), [['Insert a node', 2], ['Remove a node', 1], ['newcomer', 1]]);
});
