/** The strategies of a search, to choose from. Pure. */
import type { Strategy } from './protocol';

export interface StrategyChoice {
  readonly label: string;
  readonly description: string;
  /** Why it can't be used here. */
  readonly missing: string | null;
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  climb: 'a change of the best so far, dropped as soon as it is surely worse',
  guided: 'by a model of what helps: about half of the answers that climb asks for',
  evolve: 'MermaidFlow\'s loop: a parent drawn by score, a judge picks the child, each child on all items',
  mcts: 'the tree search of AFlow and A2Flow: one change of a parent drawn by score',
};

/** Those that can be used come first, in the server's order; the others say that something has to be installed. */
export function strategyChoices(strategies: readonly Strategy[]): readonly StrategyChoice[] {
  const shown = strategies.flatMap(({ strategy, missing }) => {
    const description = DESCRIPTIONS[strategy];
    return description === undefined ? [] : [{ label: strategy, description: missing === null ? description : `${description} (not installed)`, missing }];
  });
  return [...shown.filter(({ missing }) => missing === null), ...shown.filter(({ missing }) => missing !== null)];
}
