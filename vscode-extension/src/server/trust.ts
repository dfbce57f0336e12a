import * as vscode from 'vscode';
import { refusal } from './restricted';
import { say } from '../say';

/** Tell that something needs trust, with the way to it. */
export function offerTrust(): void {
  const manage = 'Manage Workspace Trust';
  void say.warning(refusal, manage).then((chosen) => {
    if (chosen === manage) void vscode.commands.executeCommand('workbench.trust.manage');
  });
}
