/** Revisions of runs in words. Pure. Reasons are a model's: whoever shows them shows text. */
import type { RevisionNote } from '../preview/protocol';
import type { Difference, Revision, RunEvent } from '../run/protocol';

/** Characters of a reason that are shown in one line. */
const MOST = 160;

type Said = Pick<RunEvent, 'revision' | 'trigger' | 'reason' | 'diff'>;

/** A revision as a note in the preview. */
export function noteOf({ revision = 0, trigger = '', reason = '', diff = {} }: Said): RevisionNote {
  return { number: revision, by: byText(trigger), reason: short(reason), effect: effectText(diff), waits: false };
}

/** Who or what asked for a revision. */
export function byText(trigger: string): string {
  switch (trigger) {
    case 'person':
      return 'by a person';
    case 'failure':
      return 'by the model, after a failure';
    case 'invalid':
      return 'by the model, after an invalid result';
    case 'start':
      return '';
    default:
      return 'by the model';
  }
}

/** What a revision does to the nodes: "2 kept, 1 reset, 1 new". */
export function effectText({ kept = [], reset = [], added = [], removed = [], bypassed = [], changed = [], renamed = {} }: Partial<Difference>): string {
  const others = changed.filter((node) => !reset.includes(node));
  const counts: readonly (readonly [number, string])[] = [
    [kept.length, 'kept'],
    [reset.length, 'reset'],
    [others.length, 'changed'],
    [added.length, 'new'],
    [removed.length - bypassed.length, 'gone'],
    [bypassed.length, 'bypassed'],
    [Object.keys(renamed).length, 'renamed'],
  ];
  return counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`).join(', ');
}

/** The nodes of a difference by what becomes of them, a line each. */
export function differenceLines({ kept = [], reset = [], added = [], removed = [], bypassed = [], changed = [], renamed = {}, refused = [] }: Partial<Difference>): string[] {
  const others = changed.filter((node) => !reset.includes(node));
  const names = Object.entries(renamed).map(([now, was]) => `${now} (was ${was})`);
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['kept', kept],
    ['reset', reset],
    ['changed', others],
    ['new', added],
    ['gone', removed.filter((node) => !bypassed.includes(node))],
    ['bypassed', bypassed],
    ['renamed', names],
  ];
  return [...refused, ...lists.filter(([, nodes]) => nodes.length > 0).map(([word, nodes]) => `${word}: ${nodes.join(', ')}`)];
}

const STATES: Readonly<Record<Revision['state'], string>> = {
  asked: 'not looked at yet',
  open: 'the model thinks',
  waiting: 'waits for you',
  unchanged: 'changes nothing',
  refused: 'refused',
  applied: '',
};

const ICONS: Readonly<Record<Revision['state'], { readonly name: string; readonly color?: string }>> = {
  asked: { name: 'circle-outline' },
  open: { name: 'sync~spin' },
  waiting: { name: 'question' },
  unchanged: { name: 'circle-slash', color: 'testing.iconSkipped' },
  refused: { name: 'error', color: 'testing.iconFailed' },
  applied: { name: 'git-commit', color: 'testing.iconPassed' },
};

export interface RevisionItem {
  readonly kind: 'revision';
  readonly run: string;
  readonly revision: Revision;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: { readonly name: string; readonly color?: string };
  /** For menus: what can be done with it. */
  readonly context: string;
}

/** A revision in the tree of runs. */
export function revisionItem(run: string, revision: Revision): RevisionItem {
  const { revision: number, state, trigger, reason, diff } = revision;
  const label = `Revision ${number}`;
  const said = [STATES[state], byText(trigger), state === 'applied' || state === 'waiting' ? effectText(diff) : '', short(reason ?? '')];
  const lines = [`${label} of run ${run}`, byText(trigger), STATES[state], reason ?? '', ...(state === 'refused' ? [] : differenceLines(diff))];
  return {
    kind: 'revision',
    run,
    revision,
    label,
    description: said.filter((part) => part !== '').join(' · '),
    tooltip: lines.filter((line) => line !== '').join('\n'),
    icon: ICONS[state],
    context: `revision.${state}`,
  };
}

/** What the channel says of an event. */
export function revisionLine(event: RunEvent): string {
  const { number, by, reason, effect } = noteOf(event);
  const how = { revision_applied: 'applied', revision_refused: 'refused', revision_unchanged: 'changes nothing', revision_waiting: 'waits for you' }[event.event] ?? event.event;
  return [`Revision ${number} (${by}) ${how}`, [effect, reason].filter((part) => part !== '').join('; ')].filter((part) => part !== '').join(': ');
}

/** A text in one line, not too long for it. */
function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MOST ? `${line.slice(0, MOST - 1)}…` : line;
}
