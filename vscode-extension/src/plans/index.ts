import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { intercept } from '../server/interceptors';
import { offerTrust } from '../server/trust';
import { PlanPanel } from './panel';

/** Planning a workflow from a task in words: a page with a task box, and the plans side by side. */
export function register(context: MerrowContext): vscode.Disposable {
  let panel: PlanPanel | undefined;
  const open = (given: unknown) => {
    if (!context.trusted()) {
      offerTrust();
      return;
    }
    if (panel === undefined) {
      const made = (panel = new PlanPanel(context));
      made.onDidClose(() => {
        if (panel === made) panel = undefined;
      });
    }
    panel.show(taskOf(given));
  };
  return vscode.Disposable.from(
    new vscode.Disposable(() => panel?.dispose()),
    vscode.commands.registerCommand(Command.planWorkflow, open),
    intercept('merrow.plan', open),
  );
}

/** The task that a command was given, else what is selected in the active editor. */
function taskOf(given: unknown): string {
  const named = typeof given === 'object' && given !== null ? (given as { task?: unknown }).task : undefined;
  if (typeof named === 'string') return named;
  const editor = vscode.window.activeTextEditor;
  return editor === undefined ? '' : editor.document.getText(editor.selection).trim();
}
