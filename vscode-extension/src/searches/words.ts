/** Searches in words. Pure. */
import { fileName, jobItem, type JobItem } from '../jobs/item';
import type { Search } from './protocol';

/** What a search found: by items that no choice was made with, else by its own estimate. */
export function foundText({ crown, told, held_out: held }: Pick<Search, 'crown' | 'told' | 'held_out'>): string {
  if (told === null) return 'nothing scored yet';
  if (crown === 0) return 'no improvement found';
  if (held === null) return `round ${crown}, estimated ${told.toFixed(3)}`;
  const p = held.p === null ? 'read before' : `p = ${held.p < 0.001 ? '< 0.001' : held.p.toFixed(3)}`.replace('= <', '<');
  return `${held.difference >= 0 ? '+' : '−'}${Math.abs(held.difference).toFixed(3)} (held-out, ${p})`;
}

/** A search in the tree: its workflow and what it found, what it was of, and how it is. */
export function searchItem(search: Search, now: number): JobItem {
  const found = foundText(search);
  const label = `${fileName(search.workflow)}: ${found}`;
  return jobItem('search', search, {
    label,
    spoken: [label],
    about: fileName(search.dataset),
    lines: [found, `${search.candidates} candidates, ${search.answers} answers, strategy ${search.strategy}`, search.dataset],
    picture: 'rocket',
  }, now);
}
