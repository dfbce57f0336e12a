/** Events as lines of the output channel. Pure. */
import { attemptText, costText, endpointName, figures, judgedText, secondsText, tokensText } from './figures';
import { stoppedLine } from './loops';
import { valueText } from './pages';
import { visitName } from '../progress';
import { inLine } from '../../people/words';
import { revisionLine } from '../../revisions/words';
import type { RunEvent } from '../protocol';

/** What the channel says of an event; undefined for what it says nothing of. */
export function lineOf(event: RunEvent): string | undefined {
  const node = visitName(event);
  const [what, how] = event.event.split('_');
  if (event.of !== undefined && (what === 'turn' || what === 'item')) {
    const which = `${node}: ${what} ${event[what] ?? 0} of ${event.of}`;
    if (how === 'started') return which;
    return how === 'failed' ? `${which} failed: ${event.error ?? ''}` : undefined;
  }
  switch (event.event) {
    case 'run_started':
      return [`Run ${event.run} (${endpointName(event.endpoint ?? '')})`, ...(event.notices ?? [])].join('\n');
    case 'node_started':
      return `${node} begins`;
    case 'node_queued':
      return event.waits === true ? `${node} queued` : undefined;
    case 'node_retrying':
      return `${node} again${event.wait ? ` in ${secondsText(event.wait)}` : ''}: ${event.reason ?? ''}`;
    case 'node_step':
      return event.title === undefined ? undefined : `${node} ${event.step ?? ''}: ${inLine(event.title)}${event.error ? `: ${inLine(event.error)}` : ''}`;
    case 'node_judged': {
      const judged = judgedText(event);
      return judged === '' ? undefined : `${node}: ${judged}`;
    }
    case 'node_finished': {
      const took = [figures(event.usage, event.seconds), attemptText(event)].filter((part) => part !== '').join(', ');
      return took === '' ? undefined : `${node} finished (${took})`;
    }
    case 'node_reused':
      return `${node} reused`;
    case 'node_skipped':
      return `${node} skipped: ${event.reason ?? ''}`;
    case 'node_failed':
      return `${node} failed: ${event.error ?? ''}`;
    case 'revision_applied':
    case 'revision_refused':
    case 'revision_unchanged':
    case 'revision_waiting':
      return revisionLine(event);
    case 'loop_ended':
      return stoppedLine(event);
    case 'run_finished':
      return `${ended('finished', event)}\n${Object.entries(event.outputs ?? {}).map(([name, value]) => `${name}: ${valueText(value)}`).join('\n')}\n`;
    case 'run_failed':
      return `${ended('failed', event)}: ${event.error ?? ''}\n`;
    case 'run_cancelled':
      return `${ended('stopped', event)}\n`;
    default:
      return undefined;
  }
}

function ended(how: string, { run, usage, seconds }: RunEvent): string {
  const took = usage === undefined ? [] : [secondsText(seconds ?? 0), tokensText(usage), costText(usage)];
  return `Run ${run} ${how}${took.length === 0 ? '' : ` (${took.join(', ')})`}`;
}
