import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { selector } from '../selector';
import { newWorkflow } from './newWorkflow';
import { say } from '../say';

/** Commands for the document in the active editor. */
export function registerDocumentCommands(context: MerrowContext): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.newWorkflow, () => told(() => newWorkflow(context))),
    vscode.commands.registerCommand(Command.fixAll, () => ask(context, fixAll)),
    vscode.commands.registerCommand(Command.fixAllInWorkspace, () => told(() => fixAllInWorkspace(context))),
  );
}

/** Have the server work on the document in the active editor. */
async function ask(context: MerrowContext, work: (context: MerrowContext, uri: string) => Promise<void>): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || vscode.languages.match(selector, document) === 0) {
    void say.info('Open a workflow first: a .mmd or .mermaid file, or Markdown with a mermaid block.');
    return;
  }
  await told(() => work(context, document.uri.toString()));
}

/** Do some work; a refusal is told in its own words. */
async function told(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (problem) {
    void say.error(problem instanceof Error ? problem.message : String(problem));
  }
}

async function fixAll(context: MerrowContext, uri: string): Promise<void> {
  const client = await context.readyClient();
  const fixed: unknown = await client.sendRequest('workspace/executeCommand', { command: 'merrow.fix', arguments: [uri] });
  const count = sum(fixed as Record<string, number>);
  const sentence = count === 0 ? NOTHING_TO_FIX : `${counted(count, 'problem')} fixed.`;
  vscode.window.setStatusBarMessage(`$(wand) ${sentence}`, 5000);
}

/** What is safe to repair in all workflow files, open or not; files that are not open yet are opened and not saved. */
async function fixAllInWorkspace(context: MerrowContext): Promise<void> {
  const client = await context.readyClient();
  const options = { location: vscode.ProgressLocation.Window, title: 'Fixing all safe problems' };
  const answer: unknown = await vscode.window.withProgress(options, async () => client.sendRequest('workspace/executeCommand', { command: 'merrow.fixWorkspace' }));
  const { fixed, files } = answer as { readonly fixed: Record<string, number>; readonly files: number };
  const sentence = files === 0 ? NOTHING_TO_FIX : `${counted(sum(fixed), 'problem')} fixed in ${counted(files, 'file')}. One undo takes all of it back.`;
  void say.info(sentence);
}

const NOTHING_TO_FIX = 'There is nothing to fix that is safe to fix.';

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((all, each) => all + each, 0);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
