import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain, plainOptions, plainSentence } from '../../src/plain';

test('in a dialog names in backticks are quoted, and nothing is a link', () => {
  assert.equal(plainSentence('It has no model `a b`; use one of: `c`, `d`.'), 'It has no model “a b”; use one of: “c”, “d”.');
  assert.equal(plainSentence('one ` of a line,\nand one ` of another stay'), 'one ` of a line,\nand one ` of another stay');
  assert.equal(plainSentence('`[x](command:y)`'), '“[x] (command:y)”');
});

test('so is the text below the message of a dialog; buttons and other options stay', () => {
  assert.deepEqual(plainOptions({ modal: true, detail: 'No `m`.\nUse `n`.' }), { modal: true, detail: 'No “m”.\nUse “n”.' });
  assert.deepEqual([{ modal: true }, 'Use `it`', undefined].map(plainOptions), [{ modal: true }, 'Use `it`', undefined]);
});

test('a name as it is keeps its backticks', () => {
  assert.equal(plain('`m`'), '`m`');
});
