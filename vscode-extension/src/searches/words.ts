/** Searches in words. Pure. */
import type { EvaluationStatus } from '../evaluations/protocol';
import { fileName, statusText } from '../evaluations/words';
import { ageText, costText } from '../run/texts/figures';
import type { Search } from './protocol';

/** What a search found: by items that no choice was made with, else by its own estimate. */
export function foundText({ crown, told, held_out: held }: Pick<Search, 'crown' | 'told' | 'held_out'>): string {
  if (told === null) return 'nothing scored yet';
  if (crown === 0) return 'no improvement found';
  if (held === null) return `round ${crown}, estimated ${told.toFixed(3)}`;
  const p = held.p === null ? 'read before' : `p = ${held.p < 0.001 ? '< 0.001' : held.p.toFixed(3)}`.replace('= <', '<');
  return `${held.difference >= 0 ? '+' : '−'}${Math.abs(held.difference).toFixed(3)} (held-out, ${p})`;
}

export interface SearchItem {
  readonly kind: 'search';
  readonly search: Search;
  readonly label: string;
  readonly description: string;
  /** All of it in words. */
  readonly spoken: string;
  readonly icon: { readonly name: string; readonly color?: string };
  /** For menus: what can be done with it. */
  readonly context: string;
}

const ICONS: Readonly<Record<EvaluationStatus, SearchItem['icon']>> = {
  running: { name: 'sync~spin' },
  finished: { name: 'rocket', color: 'testing.iconPassed' },
  stopped: { name: 'error', color: 'testing.iconFailed' },
  cancelled: { name: 'debug-pause', color: 'testing.iconSkipped' },
  interrupted: { name: 'debug-pause', color: 'testing.iconSkipped' },
};

/** A search in the tree: its workflow and what it found, what it was of, and how it is. */
export function searchItem(search: Search, now: number): SearchItem {
  const { status } = search;
  const label = `${fileName(search.workflow)}: ${foundText(search)}`;
  const said = [...(status === 'finished' ? [] : [statusText(status)]), fileName(search.dataset), ageText(search.started, now), ...(search.usage.calls > 0 ? [costText(search.usage)] : [])];
  return {
    kind: 'search',
    search,
    label,
    description: said.join(' · '),
    spoken: [label, statusText(status), ...said].join(', '),
    icon: ICONS[status],
    context: status === 'finished' ? 'search' : status === 'running' ? 'search.live' : 'search.resumable',
  };
}
