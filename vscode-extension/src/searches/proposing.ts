/** Who makes candidates of a search, and what that one is told. Pure. */
import type { Proposing } from './protocol';

export interface Proposer {
  readonly label: string;
  readonly description: string;
  /** Without one, the user's settings say who. */
  readonly value?: NonNullable<Proposing['proposer']>;
}

/** Strategies whose candidates a model may make alone. */
const ALONE: readonly string[] = ['guided', 'evolve', 'mcts'];

/** Who can make candidates for a strategy. */
export function proposersFor(strategy: string): readonly Proposer[] {
  return [
    { label: 'As in your settings', description: 'a model too, where an optimizer model is named' },
    { label: 'Safe changes', description: 'no model is asked for them', value: 'moves' },
    { label: 'Safe changes and a model', description: 'it sees the best workflow and what it gets wrong', value: 'both' },
    ...(ALONE.includes(strategy) ? [{ label: 'A model alone', description: 'it is asked for all candidates', value: 'model' } as const] : []),
  ];
}

/** What is asked of the one who proposes, when a model does: by its name in `Proposing`, with the question. */
export const TOLD = {
  optimizerModel: 'The model that proposes; empty: as in your settings',
  judgeModel: 'The model that judges what it proposes; empty: as in your settings',
  goal: 'What should get better; empty: the score alone',
} as const;

/** Whether a proposer is a model, so that the questions of `TOLD` are asked. */
export function asksModel({ value }: Proposer): boolean {
  return value === 'both' || value === 'model';
}

/** What `merrow.optimize` takes of the answers; empty ones say nothing. */
export function proposing({ value }: Proposer, answers: Readonly<Record<string, string>>): Proposing {
  const said = Object.entries(answers).map(([name, text]) => [name, text.trim()] as const).filter(([, text]) => text !== '');
  return { ...(value === undefined ? {} : { proposer: value }), ...Object.fromEntries(said) };
}
