import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { chosenModel } from '../run/server';
import type { Target } from '../run/protocol';
import type { Evaluation, EvaluationNews, Forecast, Question, Rating, Report } from './protocol';

let tokens = 0;

/** The server's requests about evaluations, by name. Each rejects with a sentence. */
export class EvaluationServer implements vscode.Disposable {
  private readonly told = new vscode.EventEmitter<EvaluationNews>();
  /** How far an evaluation is. */
  readonly onDidTell = this.told.event;
  private readonly changed = new vscode.EventEmitter<undefined>();
  /** Evaluations began, ended or were deleted. */
  readonly onDidChange = this.changed.event;
  private readonly listening: vscode.Disposable;

  constructor(private readonly context: MerrowContext) {
    const listen = (client = context.client()) => client?.onNotification('merrow/evaluationEvent', (news: EvaluationNews) => {
      this.told.fire(news);
      if (news.done === 0 || news.done === news.total) this.changed.fire(undefined);
    });
    this.listening = context.onDidChangeClient(listen);
    listen();
  }

  forecast(target: Target, question: Question): Promise<Forecast> {
    return this.execute('merrow.evaluate', { ...chosenModel(), ...target, ...question, dryRun: true });
  }

  /** Evaluate what the user agreed to, to the end. */
  evaluate(target: Target, question: Question): Promise<Evaluation> {
    return this.over(this.execute('merrow.evaluate', { ...chosenModel(), ...target, ...question, agreed: true }));
  }

  /** Go on with what the user agreed to when it began. */
  resume(evaluation: string): Promise<Evaluation> {
    return this.over(this.execute('merrow.evaluate', { resume: evaluation, agreed: true }));
  }

  async cancel(asked: { readonly run: string } | { readonly uri: string }): Promise<void> {
    await this.execute('merrow.cancel', asked);
  }

  list(limit: number): Promise<Evaluation[]> {
    return this.execute('merrow.evaluations', { limit });
  }

  async report(id: string): Promise<Report> {
    const client = await this.context.readyClient();
    return client.sendRequest('merrow/evaluation', { id });
  }

  /** Two evaluations side by side, in words. */
  compare(a: string, b: string): Promise<{ readonly before: Evaluation; readonly after: Evaluation; readonly text: string }> {
    return this.execute('merrow.compareEvaluations', { a, b });
  }

  /** Keep what a person says of an answer; null takes it back. Without a note the one that is there stays. */
  async rate(evaluation: string, rating: Rating): Promise<void> {
    await this.execute('merrow.rateAnswer', { evaluation, ...rating });
  }

  async delete(id: string): Promise<void> {
    await this.over(this.execute('merrow.deleteEvaluation', { id }));
  }

  dispose(): void {
    for (const part of [this.listening, this.told, this.changed]) part.dispose();
  }

  private async over<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } finally {
      this.changed.fire(undefined);
    }
  }

  private async execute<Answer>(command: string, argument: unknown): Promise<Answer> {
    const client = await this.context.readyClient();
    // With a token of ours the server has no progress of its own shown beside that of the extension.
    const workDoneToken = `merrow-evaluation-${(tokens += 1)}`;
    return client.sendRequest('workspace/executeCommand', { command, arguments: [argument], workDoneToken });
  }
}
