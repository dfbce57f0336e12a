import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { selector } from '../selector';
import { starter } from './starter';
import { say } from '../say';

/** Commands for the document in the active editor. */
export function registerDocumentCommands(context: MerrowContext): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.newWorkflow, newWorkflow),
    vscode.commands.registerCommand(Command.fixAll, () => ask(context, fixAll)),
    vscode.commands.registerCommand(Command.workflowFigures, () => ask(context, figures)),
  );
}

async function newWorkflow(): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: 'mermaid', content: starter });
  await vscode.window.showTextDocument(document);
}

/** Have the server work on the document in the active editor; a refusal is told in its own words. */
async function ask(context: MerrowContext, work: (context: MerrowContext, uri: string) => Promise<void>): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || vscode.languages.match(selector, document) === 0) {
    void say.info('Open a workflow first: a .mmd or .mermaid file, or Markdown with a mermaid block.');
    return;
  }
  try {
    await work(context, document.uri.toString());
  } catch (problem) {
    void say.error(problem instanceof Error ? problem.message : String(problem));
  }
}

async function fixAll(context: MerrowContext, uri: string): Promise<void> {
  const client = await context.readyClient();
  const fixed: unknown = await client.sendRequest('workspace/executeCommand', { command: 'merrow.fix', arguments: [uri] });
  const count = Object.values(fixed as Record<string, number>).reduce((sum, each) => sum + each, 0);
  const told = count === 0 ? 'There is nothing to fix that is safe to fix.' : `${count} ${count === 1 ? 'problem' : 'problems'} fixed.`;
  vscode.window.setStatusBarMessage(`$(wand) ${told}`, 5000);
}

async function figures(context: MerrowContext, uri: string): Promise<void> {
  const client = await context.readyClient();
  await client.sendRequest('workspace/executeCommand', { command: 'merrow.showMetrics', arguments: [uri, 1] });
}
