import * as vscode from 'vscode';
import { Command, Setting, defaults } from '../contributed';
import type { MerrowContext } from '../context';
import { previews } from '../preview';
import { offerTrust } from '../server/trust';
import { costText, secondsText } from './figures';
import type { LiveRuns } from './live';
import { SCHEME, type RunDocuments } from './documents';
import type { RunEnd, Target } from './protocol';
import { sentence, type Asked, type RunServer } from './server';
import { Starting, nameOf } from './starting';
import { NO_WORKFLOW, nodeOf, targetOf } from './targets';

/** Begins runs, follows them to their end, and says how they ended. */
export class Runner {
  readonly starting: Starting;
  /** Diagrams whose run is being begun: a second click begins no second one. */
  private readonly beginning = new Set<string>();

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly live: LiveRuns,
    private readonly documents: RunDocuments,
  ) {
    this.starting = new Starting(context, server, documents);
  }

  /** Run a workflow; with `again` the user is asked for its inputs even where they are known. */
  async run(given: unknown, again = false): Promise<void> {
    await this.about(given, async (target) => {
      const graph = await this.server.graph(target);
      this.live.expect(target, graph.order);
      // The server says in its own words why a workflow with errors is not run.
      const inputs = graph.errors > 0 ? {} : await this.starting.values(target, graph, again);
      if (inputs === undefined || !(await this.starting.agreed(target, inputs))) return;
      await this.follow(target, { ...target, inputs });
    });
  }

  /** Run one node and what follows anew; the rest is taken over from the run that the preview shows, or the last one. */
  async runFrom(given: unknown, run: string | undefined): Promise<void> {
    await this.about(given, async (target) => {
      const node = await nodeOf(this.context, given);
      if (node === undefined) {
        void vscode.window.showInformationMessage('Put the cursor into the node to run from, or choose it in the preview.');
        return;
      }
      const graph = await this.server.graph(target);
      this.live.expect(target, graph.order);
      if (!(await this.starting.agreed(target, {}))) return;
      await this.follow(target, { ...target, node, ...(run === undefined ? {} : { run }) });
    });
  }

  async dryRun(given: unknown): Promise<void> {
    await this.about(given, async (target) => {
      const graph = await this.server.graph(target);
      const inputs = graph.errors > 0 ? {} : await this.starting.values(target, graph, false);
      if (inputs !== undefined) await this.documents.showPlan(await this.server.dryRun({ ...target, inputs }));
    });
  }

  /** Go on with a run that ended early. */
  async resume(run: string, target: Target | undefined): Promise<void> {
    if (!this.mayRun()) return;
    try {
      if (target !== undefined) {
        // So that its events are about a document that the server knows.
        await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri)).then(undefined, () => undefined);
        const known = await this.server.graph(target).then((graph) => graph.order, () => []);
        this.live.expect(target, known);
      }
      this.openPreview(target);
      await this.ended(await this.server.resume(run), target);
    } catch (problem) {
      await this.refused(problem);
    }
  }

  async stop(run: string): Promise<void> {
    try {
      await this.server.cancel({ run });
    } catch (problem) {
      void vscode.window.showErrorMessage(sentence(problem));
    }
  }

  private mayRun(): boolean {
    if (this.context.trusted()) return true;
    offerTrust();
    return false;
  }

  /** Do something about the workflow that is meant; troubles are told. */
  private async about(given: unknown, act: (target: Target) => Promise<void>): Promise<void> {
    if (!this.mayRun()) return;
    try {
      const target = await targetOf(this.context, given);
      if (target === undefined) {
        void vscode.window.showInformationMessage(NO_WORKFLOW);
        return;
      }
      const key = `${target.uri}#${target.diagram}`;
      if (this.beginning.has(key)) return;
      this.beginning.add(key);
      const begun = this.live.onDidHappen(({ run }) => {
        if (run.target.uri === target.uri && run.target.diagram === target.diagram) this.beginning.delete(key);
      });
      try {
        await act(target);
      } finally {
        begun.dispose();
        this.beginning.delete(key);
      }
    } catch (problem) {
      await this.refused(problem);
    }
  }

  private async follow(target: Target, asked: Asked): Promise<void> {
    this.openPreview(target);
    await this.ended(await this.server.run(asked), target);
  }

  private openPreview(target: Target | undefined): void {
    if (target === undefined || !vscode.workspace.getConfiguration('merrow').get(Setting.previewOnRun, defaults.previewOnRun)) return;
    const uri = vscode.Uri.parse(target.uri);
    if (!previews(this.context).has(uri)) previews(this.context).show(uri);
  }

  private async ended(end: RunEnd, target: Target | undefined): Promise<void> {
    const name = target === undefined ? `Run ${end.run}` : nameOf(target);
    if (end.status === 'finished') await this.finished(end, name, target);
    else if (end.status === 'failed') await this.failed(end, name, target);
    // Whoever stopped a run knows it; the status bar offers to go on.
  }

  private async finished(end: RunEnd, name: string, target: Target | undefined): Promise<void> {
    const open = () => this.documents.showResult(end.run, name, { preserveFocus: true, viewColumn: this.columnOf(target) });
    if (this.isLookedAt(target)) {
      await open();
      return;
    }
    const show = 'Show Result';
    const chosen = await vscode.window.showInformationMessage(`${name} finished (${secondsText(end.seconds)}, ${costText(end.usage)}).`, show);
    if (chosen === show) await open();
  }

  private async failed(end: RunEnd, name: string, target: Target | undefined): Promise<void> {
    const resume = 'Resume';
    const output = 'Show Output';
    const reason = end.error ?? 'The reason is not known.';
    const chosen = await vscode.window.showErrorMessage(`${name} failed. ${reason}`, ...remedies(reason), resume, output);
    if (chosen === resume) await this.resume(end.run, target);
    else if (chosen === output) await vscode.commands.executeCommand(Command.showRunOutput);
    else if (chosen !== undefined) await remedy(chosen);
  }

  /** What could not be run at all. */
  private async refused(problem: unknown): Promise<void> {
    const reason = sentence(problem);
    this.context.log.info(`Not run: ${reason}`);
    const chosen = await vscode.window.showErrorMessage(reason, ...remedies(reason));
    if (chosen !== undefined) await remedy(chosen);
  }

  /** Whether the user looks at the workflow, its preview, or something about a run. */
  private isLookedAt(target: Target | undefined): boolean {
    if (target === undefined || !vscode.window.state.focused) return target === undefined;
    const active = vscode.window.activeTextEditor?.document.uri;
    if (active?.toString() === target.uri || active?.scheme === SCHEME) return true;
    return previews(this.context).shown()?.uri.toString() === target.uri;
  }

  /** The column that the workflow's text is in. */
  private columnOf(target: Target | undefined): vscode.ViewColumn {
    const editors = vscode.window.visibleTextEditors;
    const own = editors.find(({ document }) => document.uri.toString() === target?.uri) ?? editors.find(({ document }) => document.uri.scheme === SCHEME);
    return own?.viewColumn ?? vscode.ViewColumn.One;
  }
}

const SET_KEY = 'Set API Key';
const PROBLEMS = 'Show Problems';

/** Buttons that help against a failure, by its words. */
function remedies(reason: string): string[] {
  if (/API key/i.test(reason)) return [SET_KEY];
  return /\(MW\d+\)/.test(reason) ? [PROBLEMS] : [];
}

async function remedy(chosen: string): Promise<void> {
  const commands: Readonly<Record<string, string>> = {
    [SET_KEY]: Command.setApiKey,
    [PROBLEMS]: 'workbench.actions.view.problems',
  };
  const command = commands[chosen];
  if (command !== undefined) await vscode.commands.executeCommand(command);
}
