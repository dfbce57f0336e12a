import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { registerToolCommands } from './commands';
import { ToolTree } from './tree';

/** Tools of servers and of files: a tree, and what can be done with them. */
export function register(context: MerrowContext): vscode.Disposable {
  const tree = new ToolTree(context);
  return vscode.Disposable.from(tree, registerToolCommands(context, tree));
}
