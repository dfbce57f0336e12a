import * as vscode from 'vscode';
import { TOLD, asksModel, proposersFor, proposing } from './proposing';
import type { Proposing } from './protocol';

const STRATEGIES: readonly vscode.QuickPickItem[] = [
  { label: 'guided', description: 'by a model of what helps: the fewest answers (needs merrow[optimize])' },
  { label: 'climb', description: 'a change of the best so far, dropped as soon as it is surely worse' },
  { label: 'evolve', description: 'a published loop: parents by score, each child on all items' },
  { label: 'mcts', description: 'the same, with the kinds of change that have helped before' },
  { label: 'gepa', description: 'the package of that name: a front over items (needs merrow[gepa])' },
];

/** How candidates are chosen; undefined where the user leaves. */
export async function strategyOf(title: string): Promise<string | undefined> {
  const options = { title, placeHolder: 'How are candidates chosen?', ignoreFocusOut: true };
  return (await vscode.window.showQuickPick(STRATEGIES, options))?.label;
}

/** Who makes candidates, and what that one is told; undefined where the user leaves. */
export async function proposingOf(title: string, strategy: string): Promise<Proposing | undefined> {
  const options = { title, placeHolder: 'Who makes candidates?', ignoreFocusOut: true };
  const proposer = await vscode.window.showQuickPick(proposersFor(strategy), options);
  if (proposer === undefined) return undefined;
  const answers: Record<string, string> = {};
  for (const [name, prompt] of asksModel(proposer) ? Object.entries(TOLD) : []) {
    const answer = await vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true });
    if (answer === undefined) return undefined;
    answers[name] = answer;
  }
  return proposing(proposer, answers);
}
