import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import type { Target } from '../run/protocol';
import { chosenModel } from '../run/server';
import type { BetterVersion, Search, SearchForecast, SearchNews, SearchQuestion, SearchReport, Strategy } from './protocol';

let tokens = 0;

/** The server's requests about searches, by name. Each rejects with a sentence. */
export class SearchServer implements vscode.Disposable {
  private readonly told = new vscode.EventEmitter<SearchNews>();
  /** How far a search is. */
  readonly onDidTell = this.told.event;
  private readonly changed = new vscode.EventEmitter<undefined>();
  /** Searches began, ended or were deleted. */
  readonly onDidChange = this.changed.event;
  private readonly listening: vscode.Disposable;

  constructor(private readonly context: MerrowContext) {
    const listen = (client = context.client()) => client?.onNotification('merrow/searchEvent', (news: SearchNews) => {
      this.told.fire(news);
      if (news.done === 0) this.changed.fire(undefined);
    });
    this.listening = context.onDidChangeClient(listen);
    listen();
  }

  forecast(target: Target, question: SearchQuestion): Promise<SearchForecast> {
    return this.execute('merrow.optimize', { ...chosenModel(), ...target, ...question, dryRun: true });
  }

  /** Search as the user agreed to, to the end. */
  optimize(target: Target, question: SearchQuestion): Promise<Search> {
    return this.over(this.execute('merrow.optimize', { ...chosenModel(), ...target, ...question, agreed: true }));
  }

  /** Go on with what the user agreed to when it began. */
  resume(search: string): Promise<Search> {
    return this.over(this.execute('merrow.optimize', { resume: search, agreed: true }));
  }

  async cancel(search: string): Promise<void> {
    await this.execute('merrow.cancel', { run: search });
  }

  strategies(): Promise<Strategy[]> {
    return this.execute('merrow.strategies', {});
  }

  list(limit: number): Promise<Search[]> {
    return this.execute('merrow.optimizations', { limit });
  }

  report(id: string): Promise<SearchReport> {
    return this.execute('merrow.optimizationReport', { id });
  }

  better(id: string): Promise<BetterVersion> {
    return this.execute('merrow.showBetter', { id });
  }

  async delete(id: string): Promise<void> {
    await this.over(this.execute('merrow.deleteOptimization', { id }));
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
    const workDoneToken = `merrow-search-${(tokens += 1)}`;
    return client.sendRequest('workspace/executeCommand', { command, arguments: [argument], workDoneToken });
  }
}
