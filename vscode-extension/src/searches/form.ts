import * as vscode from 'vscode';
import { TOLD, asksModel, proposersFor, proposing } from './proposing';
import type { Proposing, Strategy } from './protocol';
import { say } from '../say';
import { strategyChoices } from './strategies';

/** How candidates are chosen, of those that can be used here; undefined where the user leaves. */
export async function strategyOf(title: string, strategies: readonly Strategy[]): Promise<string | undefined> {
  const options = { title, placeHolder: 'How are candidates chosen?', ignoreFocusOut: true };
  const chosen = await vscode.window.showQuickPick(strategyChoices(strategies), options);
  if (chosen === undefined) return undefined;
  if (chosen.missing === null) return chosen.label;
  // Said before anything else is asked for.
  void say.error(chosen.missing);
  return undefined;
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
