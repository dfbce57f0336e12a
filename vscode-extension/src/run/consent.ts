/** Whether somebody has to agree before a run, and the words to ask with. Pure. */
import { costRange, offline, range } from './texts/figures';
import type { Plan } from './protocol';

/** Whether a run may cost something: it goes to an endpoint, and is not known to be free. */
export function mayCost(plan: Plan): boolean {
  return plan.endpoint !== offline && plan.cost_usd.most !== 0 && (plan.calls.most === null || plan.calls.most > 0);
}

/** What a run may cost, in a sentence or two. */
export function costSentence(plan: Plan): string {
  const calls = `${range(plan.calls)} ${plan.calls.most === 1 ? 'call' : 'calls'}`;
  const played = plan.nodes.filter((node) => node.played === true).map(({ node }) => node);
  const outside = played.length === 0 ? '' : ` Only played by a model, nothing is done outside: ${played.join(', ')}.`;
  return `It may make ${calls} to ${plan.endpoint} with about ${range(plan.tokens)} tokens. Cost: ${costRange(plan.cost_usd)}.${outside}`;
}
