import * as vscode from 'vscode';
import { refusal } from './restricted';

/** Tell that something needs trust, with the way to it. */
export function offerTrust(): void {
  const manage = 'Manage Workspace Trust';
  void vscode.window.showWarningMessage(refusal, manage).then((chosen) => {
    if (chosen === manage) void vscode.commands.executeCommand('workbench.trust.manage');
  });
}
