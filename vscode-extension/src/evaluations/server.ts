import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import type { Manner } from '../jobs/execute';
import { JobServer } from '../jobs/server';
import type { Target } from '../run/protocol';
import { chosenModel } from '../run/server';
import type { AnswerFields, Batch, Evaluation, EvaluationNews, Forecast, Question, Rating, Report, Rows } from './protocol';

/** The server's requests about evaluations, by name. Each rejects with a sentence. */
export class EvaluationServer extends JobServer<'evaluation', Evaluation, Question & Target, Forecast> {
  private readonly told = new vscode.EventEmitter<EvaluationNews>();
  /** How far one is, with the answers that were scored since. */
  readonly onDidTell = this.told.event;
  private readonly listening: vscode.Disposable;

  constructor(context: MerrowContext) {
    super(context, { kind: 'evaluation', begin: 'merrow.evaluate', list: 'merrow.evaluations', delete: 'merrow.deleteEvaluation' });
    const listen = (client = context.client()) => client?.onNotification('merrow/evaluationEvent', (news: EvaluationNews) => { this.told.fire(news); });
    this.listening = context.onDidChangeClient(listen);
    listen();
  }

  override dispose(): void {
    this.listening.dispose();
    this.told.dispose();
    super.dispose();
  }

  async report(id: string): Promise<Report> {
    const client = await this.context.readyClient();
    return client.sendRequest('merrow/evaluation', { id });
  }

  /** Which fields a workflow returns, and which metrics there are. */
  answerFields(target: Target): Promise<AnswerFields> {
    return this.execute('merrow.answerFields', target);
  }

  /** What a batch may cost; nothing is begun. */
  batchForecast(rows: Rows & Target): Promise<Forecast> {
    return this.execute('merrow.batch', { ...chosenModel(), ...rows, dryRun: true });
  }

  /** Answer every row, to which the user agreed, and write the file. */
  batch(rows: Rows & Target, manner: Manner): Promise<Batch> {
    return this.execute('merrow.batch', { ...chosenModel(), ...rows, agreed: true }, manner);
  }

  /** Two evaluations side by side, in words. */
  compare(a: string, b: string): Promise<{ readonly before: Evaluation; readonly after: Evaluation; readonly text: string }> {
    return this.execute('merrow.compareEvaluations', { a, b });
  }

  /** Keep what a person says of an answer; null takes it back. Without a note the one that is there stays. */
  async rate(evaluation: string, rating: Rating): Promise<void> {
    await this.execute('merrow.rateAnswer', { evaluation, ...rating });
  }
}
