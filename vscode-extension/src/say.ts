import * as vscode from 'vscode';
import { plain } from './plain';

type Show = (message: string, ...more: never[]) => Thenable<string | undefined>;

/** Notifications and dialogs in which no part of the message is a link. All of the extension's go this way. */
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
  return (message: string, ...more: unknown[]) => show(plain(message), ...(more as never[]));
}
