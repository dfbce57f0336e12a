import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Extraction } from '../../src/extractions/protocol';
import { extractionItem } from '../../src/extractions/words';
import { kindOf, type JobItem } from '../../src/jobs/item';
import type { KeptPlan } from '../../src/plans/protocol';
import { planItem } from '../../src/plans/words';
import type { PlannedRow, Reproduction } from '../../src/reproductions/protocol';
import { reproductionItem, rolesOf, rowText, withOtherData } from '../../src/reproductions/words';
import { jobTree } from '../../src/run/views/treeModel';

const usage = { prompt_tokens: 10, completion_tokens: 2, calls: 1, cost_usd: 0.01 };
const base = { status: 'finished', started: 100, error: null, usage } as const;
const reproduction: Reproduction = { ...base, reproduction: 'repro/flow', paper: 'flow', title: 'Flow: modularized', look: false, simulated: false, rows: [{ row: 'a', status: 'ended' }, { row: 'b', status: 'not run' }] };
const planned: PlannedRow = { row: 'io', table: 'Table 1', system: 'IO', asks: true, other_system: false, models: { exec: 'm' }, missing: [], estimate: null };
const plan: KeptPlan = { ...base, plan: 'p1', task: 'Write a\n story', model: 'm', report: null };
const extraction: Extraction = { ...base, extraction: 'x1', cases: '/w/solved.jsonl', part: 'validate', generator: 'm', library: '/w/operators.yaml', page: null, report: null };

test('each kind that has jobs is a group of the tree', async () => {
  const door = (kind: 'plan' | 'reproduction', items: JobItem[]) => ({ kind, label: `All ${kind}s`, picture: 'graph', items: (limit: number) => Promise.resolve(items.slice(0, limit)) });
  const items = [reproductionItem(reproduction, 160), reproductionItem({ ...reproduction, reproduction: 'repro/flow.2' }, 160)];
  const tree = await jobTree([door('plan', []), door('reproduction', items)], 1, 160);
  assert.deepEqual(tree.map(({ id, label, items: own }) => [id, label, own.map(({ id: one }) => one)]), [['reproductions', 'All reproductions', ['repro/flow']]]);
  assert.equal(kindOf(tree[0]?.items[0]), 'reproduction');
  assert.equal(kindOf(undefined), undefined);
});

test('a reproduction says how many rows have ended, and what is no measurement', () => {
  const item = reproductionItem(reproduction, 160);
  assert.deepEqual([item.label, item.description, item.context], ['flow: 1 row ended', '1 min ago · $0.0100', 'reproduction']);
  assert.equal(reproductionItem({ ...reproduction, look: true, status: 'stopped' }, 160).label, 'flow: 1 row ended (look)');
  assert.equal(reproductionItem({ ...reproduction, simulated: true, look: true }, 160).label, 'flow: 1 row ended (simulated)');
  assert.equal(reproductionItem({ ...reproduction, status: 'stopped' }, 160).context, 'reproduction.resumable');
  const row = { ...planned, estimate: { calls: 1200, tokens: 5, cost_usd: 0.25 } };
  assert.equal(rowText(row), 'IO · 1,200 calls, about $0.2500 · Table 1');
  assert.equal(rowText({ ...row, estimate: { calls: 1, tokens: 5, cost_usd: null } }), 'IO · 1 call, unknown price · Table 1');
});

test('the roles of rows are asked for once each, and files that are not the published ones where nothing else is missing', () => {
  const searched = { ...planned, models: { generator: 'g', exec: 'm2', optimizer: 'o' } };
  const roles = rolesOf([planned, searched, planned, { ...planned, other_system: true, models: { exec: 'theirs', judge: 'j' } }]);
  assert.deepEqual(roles.map(({ role, models }) => [role, models]), [['exec', ['m', 'm2']], ['optimizer', ['o']], ['generator', ['g']]]);
  assert.deepEqual(rolesOf([]), []);
  const other = { what: 'It is not the published file.', other_data: true };
  const gone = { what: 'It is missing.', other_data: false };
  const rows = [planned, { ...planned, missing: [other, other] }, { ...planned, missing: [other, gone] }, { ...planned, missing: [gone] }];
  assert.equal(withOtherData(rows), 1);
  assert.equal(withOtherData([planned]), 0);
});

test('plans are named by their task, extractions by their cases', () => {
  assert.deepEqual([planItem(plan, 160).label, planItem(plan, 160).description], ['Write a story', 'no plans yet · 1 min ago · $0.0100']);
  assert.equal(planItem({ ...plan, task: 'x'.repeat(90) }, 160).label.length, 60);
  assert.equal(planItem({ ...plan, status: 'running' }, 160).context, 'plan.live');
  assert.equal(extractionItem(extraction, 160).label, 'solved.jsonl: no operators yet');
  const operators = [{ name: 'Solve' }, { name: 'Check' }];
  assert.equal(extractionItem({ ...extraction, report: { operators, why_nothing: null } }, 160).label, 'solved.jsonl: 2 operators');
  assert.equal(extractionItem({ ...extraction, report: { operators, why_nothing: 'None.' } }, 160).label, 'solved.jsonl: no operators');
});
