import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import type { RunDocuments } from '../run/texts/documents';
import { attempt } from '../run/attempt';
import { ageText } from '../run/texts/figures';
import type { Target } from '../run/protocol';
import { sentence } from '../run/texts/rejection';
import { nameOf } from '../run/starting';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import type { Evaluation, Question } from './protocol';
import { ReportPanels, told } from './reportPanels';
import type { EvaluationServer } from './server';
import type { EvaluationStart } from './starting';
import { fileName, scoreText, statusText, type EvaluationItem } from './words';

/** Evaluations that are offered for choice. */
const MOST = 100;

/** Evaluating workflows: commands, progress, reports. */
export function registerEvaluations(context: MerrowContext, start: EvaluationStart, server: EvaluationServer, documents: RunDocuments): vscode.Disposable {
  const panels = new ReportPanels(context, server);
  const evaluating = new Evaluating(context, server, start, panels);
  const command = (id: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(id, act);
  return vscode.Disposable.from(
    panels,
    command(Command.evaluateWorkflow, (given) => evaluating.evaluate(given)),
    command(Command.openEvaluation, (given) => told(async () => {
      const id = idOf(given) ?? (await pick(server, 'Show which evaluation?'));
      if (id !== undefined) await panels.show(id);
    })),
    command(Command.resumeEvaluation, (given) => told(async () => {
      const id = idOf(given);
      if (id !== undefined) await evaluating.resume(id);
    })),
    command(Command.stopEvaluation, (given) => told(async () => {
      const id = idOf(given);
      if (id !== undefined) await server.cancel({ run: id });
    })),
    command(Command.compareTwoEvaluations, (given, all) => told(() => compare(server, documents, given, all))),
    command(Command.deleteEvaluations, (given, all) => told(() => deleteAll(server, given, all))),
    intercept('merrow.evaluate', (given) => evaluating.evaluate(given)),
    intercept('merrow.showEvaluation', (given) => vscode.commands.executeCommand(Command.openEvaluation, given)),
  );
}

/** Begins evaluations, shows how far they are, and says how they ended. */
class Evaluating {
  constructor(
    private readonly context: MerrowContext,
    private readonly server: EvaluationServer,
    private readonly start: EvaluationStart,
    private readonly panels: ReportPanels,
  ) {}

  async evaluate(given: unknown): Promise<void> {
    await attempt(this.context, async () => {
      const target = await targetOf(this.context, given);
      if (target === undefined) {
        void say.info(NO_WORKFLOW);
        return;
      }
      const question = asked(given) ?? (await this.start.question(target));
      if (question === undefined || !(await this.start.agreed(target, question))) return;
      await this.follow(nameOf(target), target.uri, () => this.server.evaluate(target, question));
    });
  }

  async resume(id: string): Promise<void> {
    await attempt(this.context, async () => {
      const { workflow, uri, evaluation } = await this.server.report(id);
      await this.follow(fileName(workflow), uri, () => this.server.resume(evaluation), evaluation);
    });
  }

  /** Show how far an evaluation is, until it ends; then its report. */
  private async follow(name: string, uri: string | null, begin: () => Promise<Evaluation>, known?: string): Promise<void> {
    const options = { location: vscode.ProgressLocation.Notification, title: `Evaluating ${name}`, cancellable: true };
    const ended = await vscode.window.withProgress(options, async (progress, token) => {
      let [shown, id] = [0, known];
      let stopped = false;
      /** The server was told to stop it: it is told once, since later there is nothing to stop. */
      let isTold = false;
      const stop = async () => {
        stopped = true;
        if (id === undefined || isTold) return;
        isTold = true;
        await this.server.cancel({ run: id }).catch((problem: unknown) => say.error(sentence(problem)));
      };
      const listening = [
        this.server.onDidTell((news) => {
          const own = id === undefined ? news.uri !== null && vscode.Uri.parse(news.uri).toString() === uri : news.evaluation === id;
          if (!own) return;
          id = news.evaluation;
          if (stopped) void stop();
          const share = (100 * news.done) / Math.max(news.total, 1);
          progress.report({ message: `${news.done} of ${news.total} answers, ${news.text}`, increment: share - shown });
          shown = share;
        }),
        token.onCancellationRequested(stop),
      ];
      try {
        return await begin();
      } finally {
        for (const one of listening) one.dispose();
      }
    });
    await this.panels.show(ended.evaluation);
    if (ended.status !== 'finished') {
      const on = 'Continue';
      const reason = ended.error === null ? '' : ` ${ended.error}`;
      // Whoever waits for the answer need not know of the message.
      void say.warning(`The evaluation of ${name} was ${statusText(ended.status)}; finished work is kept.${reason}`, on).then((chosen) => {
        if (chosen === on) void this.resume(ended.evaluation);
      });
    }
  }
}

/** The question that somebody else asked already, such as a program. */
function asked(given: unknown): Question | undefined {
  return typeof given === 'object' && given !== null && 'dataset' in given ? (given as Question & Target) : undefined;
}

/** The evaluation that a command was given: an item of the tree, or an object with its id. */
function idOf(given: unknown): string | undefined {
  return evaluationsOf(given, undefined)[0]?.id;
}

function evaluationsOf(given: unknown, all: unknown): { readonly id: string }[] {
  const items: unknown[] = Array.isArray(all) && all.length > 0 ? all : [given];
  return items.flatMap((item) => {
    if (typeof item !== 'object' || item === null) return [];
    if ('kind' in item) return item.kind === 'evaluation' ? [{ id: (item as EvaluationItem).evaluation.evaluation }] : [];
    return 'id' in item && typeof item.id === 'string' ? [{ id: item.id }] : [];
  });
}

async function pick(server: EvaluationServer, title: string, like?: Evaluation): Promise<string | undefined> {
  const now = Date.now() / 1000;
  const found = (await server.list(MOST)).filter((one) => like === undefined || (one.evaluation !== like.evaluation && one.dataset === like.dataset));
  if (found.length === 0) {
    void say.info(like === undefined ? 'There are no evaluations yet. Make one with “Merrow: Evaluate This Workflow”.' : `There is no other evaluation on ${fileName(like.dataset)} to compare with.`);
    return undefined;
  }
  const items = found.map((one) => ({
    label: `${fileName(one.workflow)}: ${scoreText(one)}`,
    description: `${fileName(one.dataset)} · ${ageText(one.started, now)}`,
    detail: one.evaluation,
    id: one.evaluation,
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true, matchOnDescription: true }))?.id;
}

async function compare(server: EvaluationServer, documents: RunDocuments, given: unknown, all: unknown): Promise<void> {
  const chosen = evaluationsOf(given, all).map(({ id }) => id);
  const first = chosen[0] ?? (await pick(server, 'Compare which evaluation?'));
  if (first === undefined) return;
  const like = chosen.length > 1 ? undefined : await server.report(first);
  const second = chosen[1] ?? (await pick(server, 'Compare with which evaluation?', like));
  if (second === undefined) return;
  const { before, after, text } = await server.compare(first, second);
  const lines = [before, after].map((one) => `${one.evaluation}  ${fileName(one.workflow)}  ${scoreText(one)}  ${fileName(one.dataset)} (part ${one.part}), ${one.metric}`);
  await documents.showText('Comparison of evaluations.txt', `${[...lines, '', text].join('\n')}\n`);
}

async function deleteAll(server: EvaluationServer, given: unknown, all: unknown): Promise<void> {
  const chosen = evaluationsOf(given, all);
  if (chosen.length === 0) return;
  const what = chosen.length === 1 ? `the evaluation ${chosen[0]?.id ?? ''}` : `${chosen.length} evaluations`;
  const detail = 'Scores and runs go from the journal; what models answered stays in the cache. This can’t be undone.';
  if ((await say.warning(`Delete ${what}?`, { modal: true, detail }, 'Delete')) !== 'Delete') return;
  for (const { id } of chosen) await server.delete(id);
}
