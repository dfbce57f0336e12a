import { costText } from '../texts/figures';
import type { Progress } from '../progress';

const ICONS = { running: 'sync~spin', waiting: 'comment-unresolved', finished: 'check', failed: 'error', cancelled: 'debug-pause' } as const;
const WORDS = { running: 'running', waiting: 'waits for a person', finished: 'finished', failed: 'failed', cancelled: 'stopped; it can be resumed' } as const;

/** What the item says of a run. */
export function itemText(progress: Progress, running: number): { text: string; tooltip: string } {
  const { status, done, total, usage } = progress;
  const cost = costText(usage);
  const more = running > 1 ? ` (${running} runs)` : '';
  const how = status === 'waiting' ? ' waiting' : status === 'cancelled' ? ' stopped' : progress.isInterrupted ? ' interrupted' : status === 'failed' ? ' failed' : '';
  return {
    text: `$(${ICONS[status]}) Merrow${how} ${done}/${total} · ${cost}${more}`,
    tooltip: `Run ${progress.run} ${progress.isInterrupted ? 'interrupted; it can be resumed' : WORDS[status]}: ${done} of ${total} nodes, ${cost}`,
  };
}
