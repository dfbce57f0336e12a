import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { MOST, pick } from '../jobs/commands';
import { jobDoor, jobParts, type JobDoor, type JobParts } from '../jobs/door';
import type { Manner } from '../jobs/execute';
import { follow } from '../jobs/follow';
import { fileName, idsOf, statusText } from '../jobs/item';
import type { RunDocuments } from '../run/texts/documents';
import { attempt, told } from '../run/attempt';
import type { Target } from '../run/protocol';
import { NO_WORKFLOW, nameOf, targetOf } from '../run/targets';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import type { Evaluation, Question } from './protocol';
import { ReportPanels } from './reportPanels';
import type { EvaluationServer } from './server';
import type { EvaluationStart } from './starting';
import { evaluationItem, scoreText } from './words';

const NONE = 'There are no evaluations yet. Make one with “Merrow: Evaluate This Workflow”.';

/** Evaluating workflows: commands, progress, reports. */
export function registerEvaluations(context: MerrowContext, start: EvaluationStart, server: EvaluationServer, documents: RunDocuments): JobParts {
  const panels = new ReportPanels(context, server);
  const evaluating = new Evaluating(context, server, start, panels);
  const command = (id: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(id, act);
  const door = jobDoor(server, {
    label: 'Evaluations',
    picture: 'graph',
    goes: 'Scores and runs go from the journal; what models answered stays in the cache.',
    item: evaluationItem,
    show: (id) => panels.show(id),
    goOn: (id) => evaluating.resume(id),
  });
  return jobParts(
    door,
    server,
    panels,
    command(Command.evaluateWorkflow, (given) => evaluating.evaluate(given)),
    command(Command.compareTwoEvaluations, (given, all) => told(() => compare(server, door, documents, given, all))),
    command(Command.runOnEveryRow, (given) => evaluating.everyRow(given)),
    intercept('merrow.evaluate', (given) => evaluating.evaluate(given)),
    intercept('merrow.showEvaluation', (given) => vscode.commands.executeCommand(Command.openJob, { ...Object(given), kind: 'evaluation' })),
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
      await this.follow(nameOf(target), (manner) => this.server.begin({ ...target, ...question }, manner));
    });
  }

  /** Answer every row of a data set, and show the file with the answers. */
  async everyRow(given: unknown): Promise<void> {
    await attempt(this.context, async () => {
      const target = await targetOf(this.context, given);
      if (target === undefined) {
        void say.info(NO_WORKFLOW);
        return;
      }
      const rows = await this.start.rows(target);
      if (rows === undefined) return;
      const ended = await follow(`Running ${nameOf(target)} on every row`, (manner) => this.server.batch({ ...target, ...rows }, manner));
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(ended.output));
      await vscode.window.showTextDocument(document);
      if (ended.status !== 'finished') void say.warning(`The batch was ${statusText(ended.status)}; the file has what is finished. Run it again into another file: what is known costs nothing.`);
    });
  }

  async resume(id: string): Promise<void> {
    await attempt(this.context, async () => {
      const { workflow, evaluation } = await this.server.report(id);
      await this.follow(fileName(workflow), (manner) => this.server.resume(evaluation, manner));
    });
  }

  /** Show how far an evaluation is, until it ends; then its report. */
  private async follow(name: string, begin: (manner: Manner) => Promise<Evaluation>): Promise<void> {
    const ended = await follow(`Evaluating ${name}`, begin);
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

async function compare(server: EvaluationServer, door: JobDoor, documents: RunDocuments, given: unknown, all: unknown): Promise<void> {
  const chosen = idsOf('evaluation', given, all);
  const first = chosen[0] ?? (await pick(door, 'Compare which evaluation?', NONE));
  if (first === undefined) return;
  const like = chosen.length > 1 ? undefined : await server.report(first);
  const second = chosen[1] ?? (like && (await pickLike(server, door, like)));
  if (second === undefined) return;
  const { before, after, text } = await server.compare(first, second);
  const lines = [before, after].map((one) => `${one.evaluation}  ${fileName(one.workflow)}  ${scoreText(one)}  ${fileName(one.dataset)} (part ${one.part}), ${one.metric}`);
  await documents.showText('Comparison of evaluations.txt', `${[...lines, '', text].join('\n')}\n`);
}

/** Another evaluation on the same data, that the user chooses. */
async function pickLike(server: EvaluationServer, door: JobDoor, like: Evaluation): Promise<string | undefined> {
  const none = `There is no other evaluation on ${fileName(like.dataset)} to compare with.`;
  const alike = (await server.list(MOST)).filter((one) => one.evaluation !== like.evaluation && one.dataset === like.dataset);
  return pick(door, 'Compare with which evaluation?', none, ({ id }) => alike.some(({ evaluation }) => evaluation === id));
}
