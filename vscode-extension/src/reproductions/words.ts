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
