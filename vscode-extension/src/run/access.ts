import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { installed } from '../models/packages';
import { findPython } from '../python/find';

/** Whether the server has the packages that reach an endpoint. Where it has not, the user is asked to set them up. */
export async function canReachModels(context: MerrowContext): Promise<boolean> {
  const { extensionPath, globalStorageUri } = context.extension;
  const choice = await findPython(extensionPath);
  // An installed merrow brings its own packages, or says what it lacks.
  if (choice.kind !== 'python' || (await installed(globalStorageUri.fsPath, choice.facts)) !== undefined) return true;
  return setUp(context, Command.setUpModelAccess);
}

/** Set packages up by a command, if the user agrees, and wait for the server that has them. Whether it is there. */
export async function setUp(context: MerrowContext, command: string): Promise<boolean> {
  const other = restarted(context);
  const isSetUp = await vscode.commands.executeCommand<boolean>(command);
  if (isSetUp) await other.done;
  else other.listening.dispose();
  return isSetUp;
}

/** Resolves when another server has started: the one that runs now does not see the new packages. */
function restarted(context: MerrowContext): { readonly done: Promise<void>; readonly listening: vscode.Disposable } {
  let resolve: () => void = () => undefined;
  const done = new Promise<void>((act) => {
    resolve = act;
  });
  const listening = context.onDidChangeClient((client) => {
    if (client === undefined) return;
    listening.dispose();
    resolve();
  });
  return { done, listening };
}
