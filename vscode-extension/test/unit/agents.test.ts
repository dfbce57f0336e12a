// What is shown of agents: their steps while they run, their calls afterwards, and what they may use beforehand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress } from '../../src/run/progress';
import type { Call, Plan, RunEvent } from '../../src/run/protocol';
import { lineOf } from '../../src/run/texts/lines';
import { answer, messages, planPage } from '../../src/run/texts/pages';

const usage = { prompt_tokens: 1, completion_tokens: 1, calls: 1, cost_usd: 0 };
const title = 'web.search({"query":"x"})';

const event = (name: string, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r', node: 'A', path: '', at: 100, ...more });

test('the steps of an agent are told while it runs', () => {
  const step = event('node_step', { step: 'step 1.1', title });
  const progress = new Progress('r', ['A']);
  progress.take(event('node_started'));
  progress.take(step);
  assert.equal(progress.states(100).get('A')?.detail, `step 1.1: ${title}`);
  assert.equal(lineOf(step), `A step 1.1: ${title}`);
  assert.equal(lineOf({ ...step, error: 'it failed' }), `A step 1.1: ${title}: it failed`);
});

test('a step is shown with what was added since the one before, and with the calls that its model asked for', () => {
  const call = { step: 'step 2', sample: 0, attempt: 0, kind: 'model', origin: 'endpoint', usable: true, usage, seconds: 0 } as const;
  const asked: Call = { ...call, request: { after: 'a', new: [{ role: 'tool', content: 'It rains.' }] }, result: { text: 'So.', calls: [{ name: 'web__fetch' }] } };
  assert.deepEqual(messages(asked), [{ role: 'tool', content: 'It rains.' }]);
  assert.match(answer(asked), /^So\.\n[^]*web__fetch/);
});

test('a dry run says which tools are called, and which a model may use in how many steps', () => {
  const node = { operator: 'ToolAgent', model: 'm', runs: 'always', samples: 1, questions: [] } as const;
  const bounds = { least: 1, most: 6 };
  const nodes = [
    { ...node, node: 'A', tools: { names: ['web.search', 'person'], steps: 6 } },
    { ...node, node: 'B', tool: 'mail.send' },
    { ...node, node: 'C', operator: 'Retrieve', embeds: 1200 },
  ];
  const plan: Plan = { workflow: '/w/flow.mmd', endpoint: 'https://api.example.org', order: ['A', 'B', 'C'], nodes, calls: bounds, tokens: bounds, cost_usd: bounds };
  const page = planPage(plan);
  assert.match(page, /Its model may use web\.search, person, in up to 6 steps\./);
  assert.match(page, /Calls the tool mail\.send\./);
  assert.match(page, /Retrieve · m\n\nHas the query embedded, and 1,200 of its store’s texts/);
});
