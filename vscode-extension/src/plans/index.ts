import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { jobDoor, jobParts, type JobParts } from '../jobs/door';
import { attempt } from '../run/attempt';
import { intercept } from '../server/interceptors';
import { offerTrust } from '../server/trust';
import { PlanPanel } from './panel';
import { PlanServer } from './server';
import { planItem } from './words';

/** Planning a workflow from a task in words: a page with a task box, and the plans side by side. */
export function registerPlans(context: MerrowContext): JobParts {
  const server = new PlanServer(context);
  let panel: PlanPanel | undefined;
  const opened = (): PlanPanel => {
    if (panel !== undefined) return panel;
    const made = (panel = new PlanPanel(context, server));
    made.onDidClose(() => {
      if (panel === made) panel = undefined;
    });
    return made;
  };
  const open = (given: unknown) => {
    if (context.trusted()) opened().show(taskOf(given));
    else offerTrust();
  };
  const door = jobDoor(server, {
    label: 'Plans',
    picture: 'type-hierarchy',
    goes: 'Plans and what they were ranked by go from the journal; files stay, and so does what models answered in the cache.',
    item: planItem,
    show: async (id) => { opened().showKept(await server.report(id)); },
    goOn: (id) => attempt(context, () => opened().resume(id)),
  });
  return jobParts(
    door,
    server,
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
