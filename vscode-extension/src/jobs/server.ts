import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { chosenModel } from '../run/server';
import { execute, type Manner } from './execute';
import type { Job, JobKind } from './protocol';

/** What the server's commands about a kind are called. */
export interface Names<Kind extends JobKind> {
  readonly kind: Kind;
  readonly begin: string;
  readonly list: string;
  readonly delete: string;
}

/** The server's requests about jobs of one kind; `Done` is what came of one. Each rejects with a sentence. */
export class JobServer<Kind extends JobKind, One extends Job<Kind>, Question extends object, Forecast, Done = One> implements vscode.Disposable {
  protected readonly changed = new vscode.EventEmitter<undefined>();
  /** Some began, ended or were deleted. */
  readonly onDidChange = this.changed.event;

  constructor(
    protected readonly context: MerrowContext,
    private readonly names: Names<Kind>,
  ) {}

  get kind(): Kind {
    return this.names.kind;
  }

  /** What one may cost; nothing is begun. */
  forecast(question: Question, manner?: Manner): Promise<Forecast> {
    return this.execute(this.names.begin, { ...chosenModel(), ...question, dryRun: true }, manner);
  }

  /** Work on what the user agreed to, to the end. */
  begin(question: Question, manner?: Manner): Promise<Done> {
    return this.work({ ...chosenModel(), ...question, agreed: true }, manner);
  }

  /** Go on with what the user agreed to when it began. */
  resume(id: string, manner?: Manner): Promise<Done> {
    return this.work({ resume: id, agreed: true }, manner);
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
    this.changed.dispose();
  }

  protected execute<Answer>(command: string, argument: unknown, manner?: Manner): Promise<Answer> {
    return execute(this.context, command, argument, manner);
  }

  private work(argument: unknown, manner: Manner = {}): Promise<Done> {
    let isListed = false;
    const told: Manner['told'] = (message, percentage) => {
      if (!isListed) this.changed.fire(undefined);
      isListed = true;
      manner.told?.(message, percentage);
    };
    return this.over(this.execute(this.names.begin, argument, { ...manner, told }));
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
export type AnyJobServer<Kind extends JobKind, One extends Job<Kind>> = Pick<JobServer<Kind, One, never, unknown>, 'kind' | 'onDidChange' | 'cancel' | 'list' | 'delete'>;
