import * as vscode from 'vscode';
import { plainOptions, plainSentence } from './plain';

type Show = (message: string, ...more: never[]) => Thenable<string | undefined>;

/** Notifications and dialogs, all text of which is plain: no part is a link or Markdown. All of the extension's go this way. */
export const say = {
  info: through(vscode.window.showInformationMessage),
  warning: through(vscode.window.showWarningMessage),
  error: through(vscode.window.showErrorMessage),
};

interface Say {
  (message: string, ...buttons: string[]): Thenable<string | undefined>;
  (message: string, options: vscode.MessageOptions, ...buttons: string[]): Thenable<string | undefined>;
}

function through(show: Show): Say {
  return (message: string, ...more: unknown[]) => show(plainSentence(message), ...(more.map(plainOptions) as never[]));
}
