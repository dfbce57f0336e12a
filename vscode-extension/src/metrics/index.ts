import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { Command } from '../contributed';
import { stem, type RunDocuments } from '../run/texts/documents';
import type { Target } from '../run/protocol';
import { sentence } from '../run/texts/rejection';
import { NO_WORKFLOW, nameOf, targetOf } from '../run/targets';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import { metricsPage, type Metrics } from './page';

/** The figures of a workflow as a page beside it, by command and by the lens above it. */
export function registerFigures(context: MerrowContext, documents: RunDocuments): vscode.Disposable {
  const show = async (target: Target | undefined) => {
    if (target === undefined) {
      void say.info(NO_WORKFLOW);
      return;
    }
    const client = await context.readyClient();
    const metrics = await client.sendRequest<Metrics>('workspace/executeCommand', { command: 'merrow.metrics', arguments: [target.uri, target.diagram] });
    const name = nameOf(target);
    await documents.showRendered(`Figures of ${stem(name)}.md`, metricsPage(name, metrics));
  };
  const told = async (target: () => Promise<Target | undefined>) => {
    try {
      await show(await target());
    } catch (problem) {
      void say.error(sentence(problem));
    }
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.workflowFigures, (given) => told(() => targetOf(context, given))),
    intercept('merrow.showMetrics', (uri, diagram) => told(() => targetOf(context, { uri, diagram }))),
  );
}
