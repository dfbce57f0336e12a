import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { MOST, pick } from '../jobs/commands';
import { jobDoor, jobParts, type JobDoor, type JobParts } from '../jobs/door';
import type { Manner } from '../jobs/execute';
import { follow } from '../jobs/follow';
import { fileName, idsOf, statusText } from '../jobs/item';
import type { ResultPanels } from '../results/panels';
import { attempt, told } from '../run/attempt';
import type { Target } from '../run/protocol';
import { NO_WORKFLOW, nameOf, targetOf } from '../run/targets';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import type { Evaluation, Question } from './protocol';
import type { EvaluationServer } from './server';
import type { EvaluationStart } from './starting';
import { evaluationItem } from './words';

const NONE = 'There are no evaluations yet. Make one with “Merrow: Evaluate This Workflow”.';

/** Evaluating workflows: commands, progress, results. */
export function registerEvaluations(context: MerrowContext, start: EvaluationStart, server: EvaluationServer, results: ResultPanels): JobParts {
  const evaluating = new Evaluating(context, server, start, results);
  const command = (id: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(id, act);
  const door = jobDoor(server, {
    label: 'Evaluations',
    picture: 'graph',
    goes: 'Scores and runs go from the journal; what models answered stays in the cache.',
    item: evaluationItem,
    show: (id) => results.show({ kind: 'evaluation', id }),
    goOn: (id) => evaluating.resume(id),
  });
  return jobParts(
    door,
    server,
    server.onDidChange(() => { results.changed('evaluation'); }),
    server.onDidTell(({ evaluation }) => {
      results.changed('evaluation', evaluation);
      results.changed('batch', evaluation);
    }),
    command(Command.evaluateWorkflow, (given) => evaluating.evaluate(given)),
    command(Command.compareTwoEvaluations, (given, all) => told(() => compare(server, door, results, given, all))),
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
    private readonly results: ResultPanels,
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

  async resume(id: string): Promise<void> {
    await attempt(this.context, async () => {
      const known = (await this.server.list(MOST)).find(({ evaluation }) => evaluation === id);
      await this.follow(known === undefined ? id : fileName(known.workflow), (manner) => this.server.resume(id, manner));
    });
  }

  /** Show how far an evaluation is, until it ends; then its rows. */
  private async follow(name: string, begin: (manner: Manner) => Promise<Evaluation>): Promise<void> {
    const ended = await follow(`Evaluating ${name}`, begin);
    await this.results.show({ kind: 'evaluation', id: ended.evaluation });
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

async function compare(server: EvaluationServer, door: JobDoor, results: ResultPanels, given: unknown, all: unknown): Promise<void> {
  const chosen = idsOf('evaluation', given, all);
  const first = chosen[0] ?? (await pick(door, 'Compare which evaluation?', NONE));
  if (first === undefined) return;
  const like = chosen.length > 1 ? undefined : await server.report(first);
  const second = chosen[1] ?? (like && (await pickLike(server, door, like)));
  if (second === undefined) return;
  await results.show({ kind: 'comparison', id: first, other: second });
}

/** Another evaluation on the same data, that the user chooses. */
async function pickLike(server: EvaluationServer, door: JobDoor, like: Evaluation): Promise<string | undefined> {
  const none = `There is no other evaluation on ${fileName(like.dataset)} to compare with.`;
  const alike = (await server.list(MOST)).filter((one) => one.evaluation !== like.evaluation && one.dataset === like.dataset);
  return pick(door, 'Compare with which evaluation?', none, ({ id }) => alike.some(({ evaluation }) => evaluation === id));
}
