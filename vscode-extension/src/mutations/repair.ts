import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import type { Graph } from '../preview/protocol';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import { proposalOf, type Delta } from './moves';
import type { Edit, Proposal } from './proposal';
import { say } from '../say';

/** A repair in the answer to `merrow.repair`. */
interface Repair {
  readonly valid: boolean;
  readonly effect: string;
  readonly edits: readonly Edit[];
  readonly delta: Delta;
  readonly diagramText: string;
}

type Show = (context: MerrowContext, title: string, proposals: readonly Proposal[]) => Promise<boolean>;

/** The smallest repair of the workflow that `given` names, else of the one that is looked at: shown, to be applied or not. */
export async function repairWorkflow(context: MerrowContext, given: unknown, show: Show): Promise<void> {
  try {
    const target = await targetOf(context, given);
    if (target === undefined) {
      void say.info(NO_WORKFLOW);
      return;
    }
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
    const { version } = document;
    const client = await context.readyClient();
    const options = { location: vscode.ProgressLocation.Window, title: 'Looking for the smallest repair' };
    const repair = await vscode.window.withProgress(options, async () => {
      const asked = { ...target, preview: true };
      return client.sendRequest<Repair | null>('workspace/executeCommand', { command: 'merrow.repair', arguments: [asked] });
    });
    if (repair === null) {
      void say.info('There is nothing to repair: this diagram has no errors.');
      return;
    }
    if (document.version !== version) throw new Error('The text changed meanwhile; ask again.');
    const title = repair.valid ? 'Repair this workflow' : 'Repair part of this workflow';
    const move = { ...repair, id: '', operator: 'repair', title };
    const pictures = async () => {
      const graph = await client.sendRequest<Graph | null>('merrow/graph', { textDocument: { uri: target.uri }, diagram: target.diagram });
      if (graph === null) throw new Error('The diagram is not there any more.');
      return { before: graph.text, after: repair.diagramText };
    };
    await show(context, title, [proposalOf(move, target.uri, version, { pictures })]);
  } catch (problem) {
    void say.error(problem instanceof Error ? problem.message : String(problem));
  }
}
