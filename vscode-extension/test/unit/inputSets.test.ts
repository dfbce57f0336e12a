import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstSets, setsPath, workflowPaths } from '../../src/inputs/setsText';

test('sets lie beside their workflow', () => {
  assert.equal(setsPath('/a/b.c/letters.mmd', 1), '/a/b.c/letters.inputs.yaml');
  assert.equal(setsPath('/a/notes.md', 2), '/a/notes.2.inputs.yaml');
  assert.equal(setsPath('/a.b/none', 1), '/a.b/none.inputs.yaml');
});

test('a file of sets leads back to its workflow', () => {
  for (const [workflow, diagram] of [['/a/letters.mmd', 1], ['/a/notes.md', 2], ['/a/v1.2.mmd', 1]] as const) {
    assert.ok(workflowPaths(setsPath(workflow, diagram)).some((one) => one.path === workflow && one.diagram === diagram), workflow);
  }
  assert.deepEqual(workflowPaths('/a/other.yaml'), []);
});

test('a first file has a value for each input', () => {
  const values = [
    { name: 'LETTER', about: 'Letter: Text', value: { text: 'Dear team,\n\n  hello: # there\n' } },
    { name: 'POLICY', about: 'Our policy:\nText', value: { file: 'inputs/policy.txt' } },
    { name: 'odd name', about: 'x', value: { text: ' begins "so"\n' } },
    { name: 'END', about: 'x', value: { text: 'one\ntwo' } },
  ];
  assert.equal(
    firstSets('letters.mmd', values),
    '# Inputs of letters.mmd: named sets to run it with. A value is text, lines behind |, or a file such as {file: letter.txt}.\nfirst:\n' +
      '  # Letter: Text\n  LETTER: |\n    Dear team,\n\n      hello: # there\n' +
      '  # Our policy: Text\n  POLICY: {file: "inputs/policy.txt"}\n' +
      '  # x\n  "odd name": " begins \\"so\\"\\n"\n' +
      '  # x\n  END: |-\n    one\n    two\n',
  );
});
