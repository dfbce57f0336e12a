/** What the fields of the page of plans ask for. Pure. */
import type { Wish } from './protocol';

export const MOST_PLANS = 10;
const [USUAL_PLANS, MOST_TASKS] = [3, 500];

/** The page's fields as they are typed. */
export interface Fields {
  readonly task: string;
  readonly number: string;
  readonly roles: string;
  readonly agents: string;
  readonly tasks: string;
  readonly drawn: boolean;
}

/** What is asked for: what can't be a number is left out, and a number that is too small or too large is the nearest one. */
export function wishOf({ task, number, roles, agents, tasks, drawn }: Fields): Wish {
  const maxAgents = whole(agents);
  const maxNodes = whole(tasks, MOST_TASKS);
  const named = roles.split(',').map((role) => role.trim()).filter((role) => role !== '');
  return {
    task: task.trim(),
    n: whole(number, MOST_PLANS) ?? USUAL_PLANS,
    ...(named.length === 0 ? {} : { roles: named }),
    ...(maxAgents === undefined ? {} : { maxAgents }),
    ...(maxNodes === undefined ? {} : { maxNodes }),
    ...(drawn ? { form: 'mermaid' } : {}),
  };
}

function whole(typed: string, most = 1000): number | undefined {
  const value = Math.round(Number(typed));
  return typed.trim() === '' || !Number.isFinite(value) ? undefined : Math.min(Math.max(value, 1), most);
}
