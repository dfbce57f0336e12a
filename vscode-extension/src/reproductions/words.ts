/** Reproductions in words. Pure. */
import { jobItem, type JobItem } from '../jobs/item';
import { count } from '../run/texts/figures';
import type { PlannedRow, Reproduction } from './protocol';

/** A reproduction in the tree: its paper, and how many rows have ended. */
export function reproductionItem(reproduction: Reproduction, now: number): JobItem {
  const { paper, title, look, simulated, rows } = reproduction;
  const ended = `${count(rows.filter(({ status }) => status === 'ended').length, 'row')} ended`;
  const mark = simulated ? ' (simulated)' : look ? ' (look)' : '';
  const label = `${paper}: ${ended}${mark}`;
  return jobItem('reproduction', reproduction, { label, spoken: [label], about: '', lines: [title, ended], picture: 'mortar-board' }, now);
}

/** What a row may cost, in a few words. */
export function rowText({ table, system, estimate }: PlannedRow): string {
  if (estimate === null) return `${system} · ${table}`;
  const cost = estimate.cost_usd === null ? 'unknown price' : `about $${estimate.cost_usd.toFixed(estimate.cost_usd >= 1 ? 2 : 4)}`;
  return `${system} · ${count(estimate.calls, 'call')}, ${cost} · ${table}`;
}

/** What each role of a reproduction does, in the order in which their models are asked for. */
const ROLES: Readonly<Record<string, string>> = {
  exec: 'answers the items',
  optimizer: 'proposes and plans',
  judge: 'judges what is proposed',
  generator: 'extracts operators',
};

/** A role of the rows with what it does, and the models that the rows name for it. */
export interface Role {
  readonly role: string;
  readonly does: string;
  readonly models: readonly string[];
}

/** The roles that rows ask a model for. */
export function rolesOf(rows: readonly PlannedRow[]): Role[] {
  const own = rows.filter(({ other_system: isOther }) => !isOther);
  return Object.entries(ROLES).flatMap(([role, does]) => {
    const models = [...new Set(own.flatMap((row) => row.models[role] ?? []))];
    return models.length === 0 ? [] : [{ role, does, models }];
  });
}

/** How many rows are left out only because their files are not the published ones. */
export function withOtherData(rows: readonly PlannedRow[]): number {
  return rows.filter(({ missing }) => missing.length > 0 && missing.every(({ other_data: isOther }) => isOther)).length;
}
