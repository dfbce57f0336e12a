import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { JobServer } from '../jobs/server';
import type { Target } from '../run/protocol';
import type { AnswerFields, Batch, Evaluation, EvaluationNews, Forecast, Question, Report, Rows } from './protocol';

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

}

/** The same about batches. */
export class BatchServer extends JobServer<'batch', Batch, Rows & Target, Forecast> {
  constructor(context: MerrowContext) {
    super(context, { kind: 'batch', begin: 'merrow.batch', list: 'merrow.batches', delete: 'merrow.deleteBatch' });
  }
}
