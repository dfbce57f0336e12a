import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import type { Graph } from '../preview/protocol';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import { intercept } from '../server/interceptors';
import { proposalOf, type Move } from './moves';
import { repairWorkflow } from './repair';
import { byKind, type Proposal } from './proposal';
import { ProposalSession, ProposalTexts } from './session';
import { say } from '../say';

const doors = new WeakMap<MerrowContext, Door>();

/**
 * Let the user choose among changes, look at each as a difference and in pictures, and apply one or none. Resolves with whether one
 * was applied, once that is known. There is one look at a time: a new one ends the one before.
 */
export function showProposals(context: MerrowContext, title: string, proposals: readonly Proposal[]): Promise<boolean> {
  const door = doors.get(context);
  return door === undefined ? Promise.resolve(false) : door.show(title, proposals);
}

export function register(context: MerrowContext): vscode.Disposable {
  const door = new Door(context);
  doors.set(context, door);
  const command = (id: string, act: (given: unknown) => unknown) => vscode.commands.registerCommand(id, act);
  return vscode.Disposable.from(
    door,
    command(Command.safeMutations, (given) => safeMutations(context, given)),
    command(Command.applyProposal, () => door.session?.apply()),
    command(Command.nextProposal, () => door.session?.move(1)),
    command(Command.previousProposal, () => door.session?.move(-1)),
    command(Command.cancelProposals, () => door.session?.end(false)),
    command(Command.repairWorkflow, (given) => repairWorkflow(context, given, showProposals)),
    intercept('merrow.repair', (given) => repairWorkflow(context, given, showProposals)),
    // "More safe mutations…" among the code actions.
    intercept('merrow.moreMutations', (given) => safeMutations(context, given)),
  );
}

class Door implements vscode.Disposable {
  session: ProposalSession | undefined;
  private readonly texts = new ProposalTexts();

  constructor(private readonly context: MerrowContext) {}

  async show(title: string, proposals: readonly Proposal[]): Promise<boolean> {
    const index = proposals.length > 1 ? await pick(title, proposals) : proposals.length - 1;
    if (index === undefined || index < 0) return false;
    await this.session?.end(false);
    this.texts.clear();
    const session = (this.session = new ProposalSession(this.context, this.texts, title, proposals, index));
    return new Promise((resolve) => {
      session.onDidEnd((applied) => {
        if (this.session === session) this.session = undefined;
        resolve(applied);
      });
      void session.move(0);
    });
  }

  dispose(): void {
    this.session?.dispose();
    this.texts.dispose();
  }
}

/** The place in the list of the proposal that is chosen. */
async function pick(title: string, proposals: readonly Proposal[]): Promise<number | undefined> {
  const items: (vscode.QuickPickItem & { readonly proposal?: Proposal })[] = [];
  for (const [kind, group] of byKind(proposals)) {
    items.push({ label: kind, kind: vscode.QuickPickItemKind.Separator });
    for (const proposal of group) items.push({ label: proposal.title, description: proposal.effect, proposal });
  }
  const placeHolder = 'Choose a change to look at; nothing is applied yet';
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder, matchOnDescription: true });
  return chosen?.proposal === undefined ? undefined : proposals.indexOf(chosen.proposal);
}

/** The safe mutations of a workflow, or of the part of it that `given` names as `merrow.mutations` has it. */
async function safeMutations(context: MerrowContext, given: unknown): Promise<void> {
  try {
    const target = await targetOf(context, given);
    if (target === undefined) {
      void say.info(NO_WORKFLOW);
      return;
    }
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
    const { version } = document;
    const options = { location: vscode.ProgressLocation.Window, title: 'Looking for safe mutations' };
    const moves = await vscode.window.withProgress(options, async () => {
      const client = await context.readyClient();
      const asked = { ...partOf(given), ...target };
      return client.sendRequest<Move[]>('workspace/executeCommand', { command: 'merrow.mutations', arguments: [asked] });
    });
    if (document.version !== version) throw new Error('The text changed meanwhile; ask again.');
    if (moves.length === 0) {
      void say.info('There is no safe mutation of what is selected.');
      return;
    }
    const proposals = moves.map((move) => proposalOf(move, target.uri, version, () => pictures(context, target, move.id)));
    await showProposals(context, 'Safe mutations', proposals);
  } catch (problem) {
    void say.error(problem instanceof Error ? problem.message : String(problem));
  }
}

/** What of the workflow is asked about: a place of the text or a node, of one operator. */
function partOf(given: unknown): object {
  if (typeof given !== 'object' || given === null || given instanceof vscode.Uri) return {};
  const { range, node, operator } = given as { range?: unknown; node?: unknown; operator?: unknown };
  return { ...(range === undefined ? {} : { range }), ...(node === undefined ? {} : { node }), ...(operator === undefined ? {} : { operator }) };
}

async function pictures(context: MerrowContext, target: { readonly uri: string; readonly diagram: number }, id: string): Promise<{ before: string; after: string }> {
  const client = await context.readyClient();
  const graph = await client.sendRequest<Graph | null>('merrow/graph', { textDocument: { uri: target.uri }, diagram: target.diagram });
  const asked = { ...target, id, preview: true };
  const after = await client.sendRequest<{ readonly diagramText: string }>('workspace/executeCommand', { command: 'merrow.mutate', arguments: [asked] });
  if (graph === null) throw new Error('The diagram is not there any more.');
  return { before: graph.text, after: after.diagramText };
}
