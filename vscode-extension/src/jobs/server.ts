import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import type { Target } from '../run/protocol';
import { chosenModel } from '../run/server';
import { execute } from './execute';
import type { Job, JobKind, News } from './protocol';

/** What the server's commands about a kind are called. */
export interface Names<Kind extends JobKind> {
  readonly kind: Kind;
  readonly begin: string;
  readonly list: string;
  readonly delete: string;
  /** The notification that says how far one is. */
  readonly event: string;
}

/** The server's requests about jobs of one kind. Each rejects with a sentence. */
export abstract class JobServer<Kind extends JobKind, One extends Job<Kind>, Question, Forecast, Told extends News<Kind>> implements vscode.Disposable {
  private readonly told = new vscode.EventEmitter<Told>();
  /** How far one is. */
  readonly onDidTell = this.told.event;
  private readonly changed = new vscode.EventEmitter<undefined>();
  /** Some began, ended or were deleted. */
  readonly onDidChange = this.changed.event;
  private readonly listening: vscode.Disposable;

  constructor(
    protected readonly context: MerrowContext,
    private readonly names: Names<Kind>,
  ) {
    const listen = (client = context.client()) => client?.onNotification(names.event, (news: Told) => {
      this.told.fire(news);
      if (news.done === 0 || news.done === news.total) this.changed.fire(undefined);
    });
    this.listening = context.onDidChangeClient(listen);
    listen();
  }

  get kind(): Kind {
    return this.names.kind;
  }

  /** One with all that there is of it. */
  abstract report(id: string): Promise<One>;

  forecast(target: Target, question: Question): Promise<Forecast> {
    return this.execute(this.names.begin, { ...chosenModel(), ...target, ...question, dryRun: true });
  }

  /** Work on what the user agreed to, to the end. */
  begin(target: Target, question: Question): Promise<One> {
    return this.over(this.execute(this.names.begin, { ...chosenModel(), ...target, ...question, agreed: true }));
  }

  /** Go on with what the user agreed to when it began. */
  resume(id: string): Promise<One> {
    return this.over(this.execute(this.names.begin, { resume: id, agreed: true }));
  }

  async cancel(id: string): Promise<void> {
    await this.execute('merrow.cancel', { run: id });
  }

  list(limit: number): Promise<One[]> {
    return this.execute(this.names.list, { limit });
  }

  async delete(id: string): Promise<void> {
    await this.over(this.execute(this.names.delete, { id }));
  }

  dispose(): void {
    for (const part of [this.listening, this.told, this.changed]) part.dispose();
  }

  protected execute<Answer>(command: string, argument: unknown): Promise<Answer> {
    return execute(this.context, command, argument);
  }

  private async over<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } finally {
      this.changed.fire(undefined);
    }
  }
}

/** What the rest needs of the server of one kind, whatever its questions are. */
export type AnyJobServer<Kind extends JobKind, One extends Job<Kind>, Told extends News<Kind> = News<Kind>> = Pick<JobServer<Kind, One, never, unknown, Told>, 'kind' | 'onDidTell' | 'cancel' | 'list' | 'delete'>;
