import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barText, barTooltip, doctorPage, whoAnswers } from '../../src/answering/words';
import { metricsPage, type Measures, type Metrics } from '../../src/metrics/page';

const hosted = { endpoint: 'https://api.openai.com', source: 'default', key: true, models: ['gpt-4o-mini', 'gpt-4o'] };

test('the status bar names the embedded model, or model and endpoint', () => {
  assert.equal(barText({ ...hosted, endpoint: 'merrow:offline' }), '$(beaker) embedded model');
  assert.match(barTooltip({ ...hosted, endpoint: 'merrow:offline' }), /free stub.*no real model/s);
  assert.equal(barText(hosted), '$(hubot) gpt-4o-mini +1 @ api.openai.com');
  assert.equal(whoAnswers({ ...hosted, endpoint: 'http://localhost:11434', models: ['llama'] }), 'llama @ localhost:11434');
  assert.match(barTooltip(hosted), /gpt-4o-mini, gpt-4o at https:\/\/api\.openai\.com.*An API key is sent/s);
  assert.match(barTooltip({ ...hosted, key: false }), /No API key is sent/);
});

test('no model name is an icon', () => {
  assert.equal(barText({ ...hosted, models: ['$(bell)'] }), '$(hubot) $ (bell) @ api.openai.com');
});

test('the doctor’s words are words', () => {
  const page = doctorPage({ endpoint: { ok: false, lines: [{ ok: false, text: 'no [x](command:y) `here`' }, { ok: null, text: 'told' }] } });
  assert.ok(page.includes('### ✗ Endpoint') && page.includes('- ✗ no \\[x\\](command:y) \\`here\\`') && page.includes('- told'));
});

const part: Measures = {
  nodes: 4,
  edges: 3,
  depth: 2,
  width: 3,
  max_antichain: 3,
  p_avg: 2,
  c_dependency: 0.8660254,
  transitive_edges: [],
  critical_path: ['CAREFUL', 'VOTE'],
  expected_completed: { failure_probability: 0.1, product_formula: 3.3561, all_ancestors_succeed: 3.3561 },
  undefined: null,
};

test('figures are a page with sentences, a table and the longest path', () => {
  const page = metricsPage('vote.mmd', { workflow: part, graph: { ...part, nodes: 6, transitive_edges: [['PROBLEM', 'VOTE']] }, promises: 0, calls: { least: 4, most: 8 } });
  assert.ok(page.includes('4 subtasks with 3 edges among them. At least 2 steps, up to 3 at once. A run makes 4 to 8 calls.'));
  assert.ok(page.includes('| Nodes | 4 | 6 |') && page.includes('| Dependency complexity | 0.87 | 0.87 |'));
  assert.ok(page.includes('`CAREFUL` → `VOTE`'));
  const cyclic = { ...part, depth: null, width: null, p_avg: null, critical_path: null, transitive_edges: null, expected_completed: null, undefined: 'A | cycle <b>' };
  const other = metricsPage('<x>.mmd', { workflow: null, graph: cyclic, promises: 1, calls: null });
  assert.ok(other.includes('# Figures of \\<x\\>.mmd') && other.includes('| Depth | n/a |') && other.includes('*Not defined: A \\| cycle \\<b\\>*'));
  assert.ok(!other.includes('Subtasks') && !other.includes('At least') && !other.includes('## Longest path') && !other.includes('## Implied edges'));
  assert.ok(page.includes('**Subtasks** are') && !page.includes('*Not defined'));
});

test('what figures say in words counts as people do', () => {
  const page = (calls: Metrics['calls'], promises = 0, of = part) => metricsPage('x', { workflow: of, graph: of, promises, calls });
  for (const [least, most, said] of [[4, 8, '4 to 8 calls'], [4, 4, '4 calls'], [1, 1, '1 call'], [0, 1, '0 to 1 call'], [2, null, '2 or more calls']] as const) {
    assert.ok(page({ least, most }).includes(`A run makes ${said}.`), said);
  }
  assert.ok(!page(null).includes('A run makes') && !page(null).includes('which Merrow can'));
  assert.ok(page(null, 1).includes('1 node says by') && page(null, 2).includes('2 nodes say by'));
  assert.ok(page(null, 0, { ...part, edges: 0 }).includes('with 0 edges') && !page(null, 0, { ...part, width: null }).includes('At least'));
  const alone = page(null, 0, { ...part, nodes: 1, edges: 1, depth: 1, width: 1, critical_path: [] });
  assert.ok(alone.includes('1 subtask with 1 edge among them. At least 1 step, up to 1 at once.') && !alone.includes('## Longest path'));
});

test('of a long path and of many implied edges the first are shown, with how many more there are', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, number) => `N${number}`);
  for (const count of [39, 40, 41, 43]) {
    const of = { ...part, critical_path: ids(count), transitive_edges: ids(count).map((id) => [id, 'END'] as const) };
    const page = metricsPage('x', { workflow: null, graph: of, promises: 0, calls: null });
    assert.equal(page.split('`N').length - 1, 2 * Math.min(count, 40));
    assert.equal(page.includes(` and ${count - 40} more`), count > 40);
    assert.equal(page.includes(`- and ${count - 40} more`), count > 40);
  }
});
