import * as vscode from 'vscode';

export interface Choice<Value> extends vscode.QuickPickItem {
  readonly value: Value;
}

/** One of these; undefined where the user leaves. */
export async function pick<Value>(title: string, placeHolder: string, choices: readonly Choice<Value>[] | Promise<Choice<Value>[]>): Promise<Value | undefined> {
  return (await vscode.window.showQuickPick(choices, { title, placeHolder, ignoreFocusOut: true, matchOnDescription: true }))?.value;
}
