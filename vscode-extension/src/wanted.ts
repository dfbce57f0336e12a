import * as vscode from 'vscode';
import { hasMermaidFence } from './fences';
import { selector } from './selector';

/**
 * Call `start` once, as soon as a document is open that the server is for. Markdown counts when it has a mermaid fence, so that the
 * server does not run for whoever only reads a README.
 */
export function whenWanted(start: () => void): vscode.Disposable {
  const listeners: vscode.Disposable[] = [];
  let started = false;
  const look = (document: vscode.TextDocument): void => {
    if (started || vscode.languages.match(selector, document) === 0) return;
    if (document.languageId === 'markdown' && !hasMermaidFence(document.getText())) return;
    started = true;
    for (const listener of listeners) listener.dispose();
    start();
  };
  listeners.push(
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      // A fence is completed by a change that has one of its characters.
      if (contentChanges.some(({ text }) => /[`~\w]/.test(text))) look(document);
    }),
  );
  for (const document of vscode.workspace.textDocuments) look(document);
  return vscode.Disposable.from(...listeners);
}
