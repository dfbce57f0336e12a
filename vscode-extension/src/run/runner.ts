import * as vscode from 'vscode';
import { Command, Setting, defaults } from '../contributed';
import type { MerrowContext } from '../context';
import { previews } from '../preview';
import { offerTrust } from '../server/trust';
import { ENDING } from '../inputs/setsText';
import { costText, secondsText } from './texts/figures';
import { placeOf, type LiveRuns } from './live';
import { INTERRUPTED } from './progress';
import { SCHEME, stem } from './texts/documents';
import { inputsOf } from './inputs';
import type { NodeView } from './panel/nodeView';
import { exhaustedText } from './texts/loops';
import { planPage } from './texts/pages';
import type { RunEnd, Target } from './protocol';
import { isAnswer, remedyOf, sentence, wasLeft } from './texts/rejection';
import type { Asked, RunServer } from './server';
import { askForOutput } from './settingOutputs';
import { Starting } from './starting';
import { NO_WORKFLOW, nameOf, nodeOf, targetOf } from './targets';
import { say } from '../say';

/** Milliseconds after a broken connection in which the end of its server is noticed. */
const NOTICED = 5000;

/** Begins runs, follows them to their end, and says how they ended. */
export class Runner {
  readonly starting: Starting;
  /** Diagrams whose run is being begun: a second click begins no second one. */
  private readonly beginning = new Set<string>();
  /** A mark for each run that is followed here, with its diagram. */
  private readonly followed = new Set<{ readonly place: string }>();
  /** The runs that people have answered since they began or were continued. */
  private readonly answered = new Set<string>();

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly live: LiveRuns,
    private readonly panel: NodeView,
  ) {
    this.starting = new Starting(context, server, panel);
  }

  /** Say how runs end that an answer continued, which nobody follows: to be disposed. */
  sayEnds(): vscode.Disposable {
    return this.live.onDidHappen(({ run: { target, progress }, event }) => {
      if (event.event === 'node_answered') this.answered.add(event.run);
      if (event.node !== null || !progress.isOver || progress.status === 'waiting' || !this.answered.delete(event.run)) return;
      if ([...this.followed].some(({ place }) => place === placeOf(target))) return;
      const { run, status, outputs, usage, seconds = 0 } = progress;
      void this.ended({ ...event, run, status, outputs, usage, seconds }, target.uri === '' ? undefined : target);
    });
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

  /** Run a workflow with a named set of inputs. */
  async runWithSet(given: unknown): Promise<void> {
    const set = typeof given === 'object' && given !== null && 'set' in given ? given.set : undefined;
    await this.about(given, async (target) => {
      const graph = await this.server.graph(target);
      this.live.expect(target, graph.order);
      const inputs = graph.errors > 0 ? {} : await this.starting.values(target, graph, false, typeof set === 'string' ? set : undefined);
      if (inputs === undefined || !(await this.starting.agreed(target, inputs))) return;
      await this.follow(target, { ...target, inputs });
    });
  }

  /** Open the named sets of a workflow's inputs. */
  async editInputs(given: unknown): Promise<void> {
    await this.about(given, async (target) => {
      await this.starting.edit(target, inputsOf(await this.server.graph(target)));
    });
  }

  /** Run one node and what follows again; the rest is reused from the run that the preview shows, or the last one. */
  async runFrom(given: unknown, run: string | undefined): Promise<void> {
    await this.about(given, async (target) => {
      const node = await nodeOf(this.context, given);
      if (node === undefined) {
        void say.info('Put the cursor into the node to run from, or choose it in the preview.');
        return;
      }
      const graph = await this.server.graph(target);
      this.live.expect(target, graph.order);
      if (!(await this.starting.agreed(target, {}))) return;
      await this.follow(target, { ...target, node, ...(run === undefined ? {} : { run }) });
    });
  }

  /**
   * Set an output of a node and run on from there: what the run gave that does not depend on it is kept. Without an earlier run all of
   * the workflow runs.
   */
  async setOutput(given: unknown, run: string | undefined): Promise<void> {
    await this.about(given, async (target) => {
      const visit = await nodeOf(this.context, given);
      const graph = await this.server.graph(target);
      const id = visit?.slice(visit.lastIndexOf('/') + 1);
      const node = graph.nodes.find((one) => one.id === visit) ?? graph.nodes.find((one) => one.id === id);
      if (visit === undefined || node === undefined || !['operator', 'decision'].includes(node.kind)) {
        void say.info('Choose a node that asks, computes or decides: put the cursor into it, or choose it in the preview.');
        return;
      }
      const before = run === undefined ? undefined : (await this.server.show(run, visit).catch(() => undefined))?.nodes[0];
      const output = await askForOutput(node, visit, before);
      if (output === undefined) return;
      const outputs = { [output.name]: output.value };
      this.live.expect(target, graph.order);
      const inputs = run !== undefined || graph.errors > 0 ? {} : await this.starting.values(target, graph, false);
      if (inputs === undefined || !(await this.starting.agreed(target, inputs))) return;
      await this.follow(target, { ...target, outputs, ...(run === undefined ? { inputs } : { run }) });
    });
  }

  async dryRun(given: unknown): Promise<void> {
    await this.about(given, async (target) => {
      const graph = await this.server.graph(target);
      const inputs = graph.errors > 0 ? {} : await this.starting.values(target, graph, false);
      if (inputs === undefined) return;
      const plan = await this.server.dryRun({ ...target, inputs });
      await this.panel.showPage(`Dry run of ${stem(plan.workflow)}`, planPage(plan));
    });
  }

  /** Continue a run that stopped before it finished. */
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
      await this.settled(this.server.resume(run), target);
    } catch (problem) {
      await this.refused(problem);
    }
  }

  async stop(run: string): Promise<void> {
    try {
      await this.server.cancel({ run });
    } catch (problem) {
      void say.error(sentence(problem));
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
        void say.info(NO_WORKFLOW);
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
    await this.settled(this.server.run(asked), target);
  }

  /** Wait for the end of a run, or of its server: a request that a server leaves behind is never answered. */
  private async settled(answer: Promise<RunEnd>, target: Target | undefined): Promise<void> {
    let listening: vscode.Disposable | undefined;
    const leave = this.following(target ?? { uri: '', diagram: 1 });
    const gone = new Promise<string>((resolve) => {
      listening = this.live.onDidHappen(({ run, event }) => {
        if (event.code === INTERRUPTED && run.target.uri === (target?.uri ?? '') && run.target.diagram === (target?.diagram ?? 1)) resolve(event.run);
      });
    });
    try {
      const kept = answer.catch(async (problem: unknown) => {
        // A connection that breaks rejects the request a moment before the runs are told.
        if (isAnswer(problem)) throw problem;
        const late = await Promise.race([gone, later(NOTICED)]);
        if (late === undefined) throw problem;
        return late;
      });
      const end = await Promise.race([gone, kept]);
      leave();
      if (typeof end === 'string') await this.interrupted(end, target);
      else await this.ended(end, target);
    } finally {
      leave();
      listening?.dispose();
    }
  }

  /** A run of the diagram is followed until what this gives is called. */
  private following(target: Target): () => void {
    const mark = { place: placeOf(target) };
    this.followed.add(mark);
    return () => this.followed.delete(mark);
  }

  /** The server ended in the middle of a run. */
  private async interrupted(run: string, target: Target | undefined): Promise<void> {
    const resume = 'Resume';
    const chosen = await say.warning(`${target === undefined ? `Run ${run}` : nameOf(target)} was interrupted: the language server ended. What had finished is kept.`, resume);
    if (chosen === resume) await this.resume(run, target);
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
    const open = () => this.panel.showEnd(end.run, target?.uri);
    if (this.isLookedAt(target)) {
      await open();
      return;
    }
    const show = 'Show Result';
    const said = `${name} finished (${secondsText(end.seconds)}, ${costText(end.usage)})`;
    const chosen = await (end.exhausted?.length ? say.warning(`${said}, but ${exhaustedText(end.exhausted)}`, show) : say.info(`${said}.`, show));
    if (chosen === show) await open();
  }

  private async failed(end: RunEnd, name: string, target: Target | undefined): Promise<void> {
    const resume = 'Resume';
    const output = 'Show Output';
    const reason = end.error ?? 'The reason is not known.';
    // An endpoint that is down is down at once again; another one may answer.
    const choose = end.code === 'endpoint' && end.remedy === undefined ? 'endpoint' : end.remedy;
    const chosen = await say.error(`${name} failed. ${reason}`, ...remedies(choose), resume, output);
    if (chosen === resume) await this.resume(end.run, target);
    else if (chosen === output) await vscode.commands.executeCommand(Command.showRunOutput);
    else if (chosen !== undefined) await remedy(chosen);
  }

  /** What could not be run at all. */
  private async refused(problem: unknown): Promise<void> {
    const reason = sentence(problem);
    this.context.log.info(`Not run: ${reason}`);
    if (wasLeft(problem)) return;
    const chosen = await say.error(reason, ...remedies(remedyOf(problem)));
    if (chosen !== undefined) await remedy(chosen);
  }

  /** Whether the user looks at the workflow, its preview, or something about a run. */
  private isLookedAt(target: Target | undefined): boolean {
    if (target === undefined || !vscode.window.state.focused) return target === undefined;
    const active = vscode.window.activeTextEditor;
    const uri = active?.document.uri;
    if (uri?.toString() === target.uri || uri?.scheme === SCHEME || uri?.path.endsWith(ENDING) === true) return true;
    // Who has gone to another file is told, and the panel left as it is. The output panel is in no column.
    if (active?.viewColumn !== undefined) return false;
    return previews(this.context).shown()?.uri.toString() === target.uri;
  }
}

function later(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => { resolve(undefined); }, milliseconds);
  });
}

interface Remedy {
  readonly label: string;
  readonly command: string;
}

/** What helps against a failure, by the remedy that the server names. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  endpoint: { label: 'Choose Endpoint', command: Command.chooseModel },
  model: { label: 'Use Another Model', command: Command.findModels },
  key: { label: 'Set API Key', command: Command.setApiKey },
  packages: { label: 'Set Up Model Access', command: Command.setUpModelAccess },
  tools: { label: 'Set Up Tools', command: Command.setUpTools },
  problems: { label: 'Show Problems', command: 'workbench.actions.view.problems' },
  trust: { label: 'Manage Workspace Trust', command: 'workbench.trust.manage' },
};

function remedies(name: string | undefined): string[] {
  const found = name === undefined ? undefined : REMEDIES[name];
  return found === undefined ? [] : [found.label];
}

async function remedy(chosen: string): Promise<void> {
  const found = Object.values(REMEDIES).find(({ label }) => label === chosen);
  if (found !== undefined) await vscode.commands.executeCommand(found.command);
}
