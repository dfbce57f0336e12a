import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { Setting, defaults } from '../contributed';
import { say } from '../say';
import { canReachModels } from './access';
import { mayCost } from './consent';
import type { RunDocuments } from './texts/documents';
import { offline } from './texts/figures';
import type { Target } from './protocol';
import { sentence, wasLeft } from './texts/rejection';
import type { Runner } from './runner';
import type { RunServer } from './server';

/** A safe mutation of a workflow, by its id. */
export interface Mutant extends Target {
  readonly id: string;
}

/** Run a workflow as it is and after a mutation on the inputs of its last run, and show both side by side. */
export async function runBoth(context: MerrowContext, server: RunServer, runner: Runner, documents: RunDocuments, mutant: Mutant): Promise<void> {
  try {
    const inputs = await runner.starting.values(mutant, await server.graph(mutant), false);
    if (inputs === undefined) return;
    const { title, plans, cost } = await server.planBoth({ ...mutant, inputs });
    if (plans[0].endpoint !== offline && !(await canReachModels(context))) return;
    const asks = vscode.workspace.getConfiguration('merrow').get(Setting.confirmRuns, defaults.confirmRuns);
    if (asks && plans.some(mayCost)) {
      const detail = `${cost.slice(0, 1).toUpperCase()}${cost.slice(1)}`;
      if ((await say.info(`Run the workflow as it is, and after “${title}”?`, { modal: true, detail }, 'Run Both')) !== 'Run Both') return;
    }
    const options = { location: vscode.ProgressLocation.Notification, title: 'Running both' };
    const { text } = await vscode.window.withProgress(options, () => server.runBoth({ ...mutant, inputs }));
    await documents.showBoth(text);
  } catch (problem) {
    if (!wasLeft(problem)) void say.error(sentence(problem));
  }
}
