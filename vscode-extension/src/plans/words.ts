/** Plans in words. Pure. */
import { jobItem, type JobItem } from '../jobs/item';
import { costText, count, endpointName, offline, tokensText } from '../run/texts/figures';
import type { Card, Cards, Forecast, KeptPlan, Plan, Plans, Rule } from './protocol';

const RULES: readonly Rule[] = ['expected', 'paper', 'code'];
/** Characters of a task that an item of the tree has. */
const TITLE = 60;

/** Plans in the tree: their task, and how many there are. */
export function planItem(kept: KeptPlan, now: number): JobItem {
  const task = kept.task.replaceAll(/\s+/g, ' ').trim();
  const label = task.length > TITLE ? `${task.slice(0, TITLE - 1)}…` : task;
  const found = kept.report === null ? 'no plans yet' : count(kept.report.plans.length, 'plan');
  return jobItem('plan', kept, { label, spoken: [label], about: found, lines: [found, `model ${kept.model}`], picture: 'type-hierarchy' }, now);
}

/** Everything that the page says of plans. */
export function cardsOf(found: Plans): Cards {
  const { rule, plans, refused, notice, notices } = found;
  const notes = [...notices];
  if (notice !== null) notes.push(notice);
  if (plans.length > 1) notes.push(`Ranked by “${rule.name}”: ${rule.formula} ${rule.fault}`);
  notes.push(usedText(found));
  return {
    cards: plans.map((plan) => card(plan, found)),
    refused: refused.map((one) => `Plan ${one.candidate} can’t be used: ${one.problems.join(' ')}`),
    notes,
  };
}

function card(plan: Plan, { plans, rule, requirements }: Plans): Card {
  const roles = new Map(plan.agents.map(({ id, role }) => [id, role]));
  const { depth } = plan.metrics;
  const steps = depth === null ? '' : ` in ${count(depth, 'step')}`;
  return {
    rank: plan.rank,
    title: `${count(plan.tasks.length, 'task')}${steps}`,
    text: plan.text,
    tasks: plan.tasks.map(({ id, objective, agent }) => ({ name: id, objective, agent: agent === null ? '' : (roles.get(agent) ?? agent) })),
    figures: RULES.map((name) => ({
      rule: name,
      place: `${plan.places[name]} of ${plans.length}`,
      values: Object.entries(plan.figures[name]).map(([figure, value]) => `${figure.replaceAll('_', ' ')} ${shortNumber(value)}`).join(', '),
      counts: name === rule.name,
    })),
    coverage: requirements === null ? null : coverage(plan, requirements),
    notes: [...(plan.repairs === 0 ? [] : [`The model corrected it ${plan.repairs === 1 ? 'once' : `${plan.repairs} times`}.`]), ...plan.notes],
  };
}

function coverage({ covered, missing, behind }: Plan, requirements: readonly string[]): Card['coverage'] {
  const lower = behind ? ', so it is ranked lower' : '';
  return {
    summary: `Covers ${requirements.length - missing.length} of ${count(requirements.length, 'requirement')}${lower}`,
    lines: requirements.map((requirement) => ({ requirement, tasks: (covered[requirement] ?? []).join(', ') })),
  };
}

/** Four digits that say something. */
export function shortNumber(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Which model will plan. */
export function aboutText({ model, endpoint, notices }: Forecast): string {
  const notes = notices.join(' ');
  if (endpoint === offline) return notes;
  return `${model} at ${endpointName(endpoint)} will plan. You are asked first if that may cost more than your settings allow. ${notes}`.trim();
}

/** Which model planned, and what it cost. */
function usedText({ model, endpoint, usage, known }: Plans): string {
  const who = endpoint === offline ? `the ${endpointName(endpoint)}` : `${model} at ${endpointName(endpoint)}`;
  if (usage.calls === 0) return known > 0 ? `Planned by ${who}; all answers were known already, so no call was made.` : 'No call was made.';
  const again = known > 0 ? ` (${known} known already)` : '';
  return `Planned by ${who}: ${count(usage.calls, 'call')}${again}, ${tokensText(usage)}, ${costText(usage)}.`;
}
