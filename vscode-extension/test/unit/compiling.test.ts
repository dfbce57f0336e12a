import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineOf, nodeAt, type Program } from '../../src/compiling/program';

const program: Program = {
  text: '',
  name: 'flow.py',
  nodes: [
    { id: 'A', lines: [12, 20], range: { start: { line: 3 }, end: { line: 4 } } },
    { id: 'B', lines: [13, 21], range: { start: { line: 5 }, end: { line: 5 } } },
    { id: 'RETURN', lines: [22], range: { start: { line: 6 }, end: { line: 6 } } },
  ],
};

test('the lines of a node lead from the program to the workflow and back', () => {
  assert.equal(lineOf(program, nodeAt(program, 13, true), false), 5);
  assert.equal(lineOf(program, nodeAt(program, 20, true), false), 3);
  assert.equal(lineOf(program, nodeAt(program, 4, false), true), 20);
  assert.equal(lineOf(program, nodeAt(program, 6, false), true), 22);
  assert.equal(lineOf(program, nodeAt(program, 1, false), true), undefined);
});
