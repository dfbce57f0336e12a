import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import type { Graph } from '../preview/protocol';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import { intercept } from '../server/interceptors';
import { proposalOf, type Page } from './moves';
import { MovePicker, PLACEHOLDER } from './picker';
import { repairWorkflow } from './repair';
import { byKind, type Proposal } from './proposal';
import { ProposalSession, ProposalTexts } from './session';
import { say } from '../say';
import { suggestImprovements } from './suggest';

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
    command(Command.safeMutations, (given) => safeMutations(context, door, given)),
    command(Command.applyProposal, () => door.session?.apply()),
    command(Command.nextProposal, () => door.session?.move(1)),
    command(Command.previousProposal, () => door.session?.move(-1)),
    command(Command.cancelProposals, () => door.session?.end(false)),
    command(Command.repairWorkflow, (given) => repairWorkflow(context, given, showProposals)),
    intercept('merrow.repair', (given) => repairWorkflow(context, given, showProposals)),
    command(Command.suggestImprovements, (given) => suggestImprovements(context, given, showProposals)),
    intercept('merrow.suggest', (given) => suggestImprovements(context, given, showProposals)),
    // "More safe mutations…" among the code actions.
    intercept('merrow.moreMutations', (given) => safeMutations(context, door, given)),
  );
}

class Door implements vscode.Disposable {
  session: ProposalSession | undefined;
  private readonly texts = new ProposalTexts();

  constructor(private readonly context: MerrowContext) {}

  async show(title: string, proposals: readonly Proposal[]): Promise<boolean> {
    const index = proposals.length > 1 ? await pick(title, proposals) : proposals.length - 1;
    return index === undefined || index < 0 ? false : this.look(title, proposals, index);
  }

  /** Show one of some proposals. */
  async look(title: string, proposals: readonly Proposal[], index: number): Promise<boolean> {
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
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: PLACEHOLDER, matchOnDescription: true });
  return chosen?.proposal === undefined ? undefined : proposals.indexOf(chosen.proposal);
}

/** The safe mutations of a workflow, or of the part of it that `given` names as `merrow.mutations` has it. */
async function safeMutations(context: MerrowContext, door: Door, given: unknown): Promise<void> {
  try {
    const target = await targetOf(context, given);
    if (target === undefined) {
      void say.info(NO_WORKFLOW);
      return;
    }
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
    const { version } = document;
    const asked = { ...partOf(given), ...target };
    const found = await new MovePicker((more) => page(context, { ...asked, ...more })).choose();
    if (document.version !== version) throw new Error('The text changed meanwhile; ask again.');
    if (found === undefined) return;
    const proposals = found.moves.map((move) =>
      proposalOf(move, target.uri, version, {
        pictures: () => pictures(context, target, move.id),
        runBoth: () => vscode.commands.executeCommand('merrow.runBoth', { ...target, id: move.id }),
      }),
    );
    await door.look('Safe mutations', proposals, found.index);
  } catch (problem) {
    void say.error(problem instanceof Error ? problem.message : String(problem));
  }
}

async function page(context: MerrowContext, asked: object): Promise<Page> {
  const client = await context.readyClient();
  return client.sendRequest<Page>('workspace/executeCommand', { command: 'merrow.mutations', arguments: [{ page: 50, ...asked }] });
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
