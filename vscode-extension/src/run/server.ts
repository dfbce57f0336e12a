import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { Setting, defaults } from '../contributed';
import { execute } from '../jobs/execute';
import type { Graph } from '../preview/protocol';
import type { Plan, Revision, RunEnd, RunReport, RunSummary, Target } from './protocol';

export interface Asked extends Partial<Target> {
  readonly inputs?: Readonly<Record<string, string>>;
  readonly node?: string;
  readonly run?: string;
  /** Outputs that a person sets, by node or `NODE.PORT`. */
  readonly outputs?: Readonly<Record<string, string>>;
}

/** The model of the user's settings, in place of the workflow's. */
export function chosenModel(): { readonly model?: string } {
  const model = vscode.workspace.getConfiguration('merrow').get(Setting.model, defaults.model).trim();
  return model === '' ? {} : { model };
}

/** The server's requests about runs, by name. Each rejects with a sentence. */
export class RunServer {
  constructor(private readonly context: MerrowContext) {}

  run(asked: Asked): Promise<RunEnd> {
    return this.execute(asked.node === undefined && asked.run === undefined ? 'merrow.run' : 'merrow.runFrom', { ...chosenModel(), ...asked });
  }

  resume(run: string): Promise<RunEnd> {
    return this.execute('merrow.resume', { run });
  }

  dryRun(asked: Asked): Promise<Plan> {
    return this.execute('merrow.dryRun', { ...chosenModel(), ...asked });
  }

  /** What a workflow and a mutant of it may ask and cost; nothing is called. */
  planBoth(asked: Asked & { readonly id: string }): Promise<{ readonly title: string; readonly plans: readonly [Plan, Plan]; readonly cost: string }> {
    return this.execute('merrow.runBoth', { ...chosenModel(), ...asked });
  }

  /** Run both; the comparison as Markdown. */
  runBoth(asked: Asked & { readonly id: string }): Promise<{ readonly text: string }> {
    return this.execute('merrow.runBoth', { ...chosenModel(), ...asked, agreed: true });
  }

  async cancel(asked: { readonly run: string } | { readonly uri: string }): Promise<void> {
    await this.execute('merrow.cancel', asked);
  }

  runs(limit: number): Promise<RunSummary[]> {
    return this.ask('merrow/runs', { limit });
  }

  show(run: string, node?: string): Promise<RunReport> {
    return this.ask('merrow/show', node === undefined ? { run } : { run, node });
  }

  async delete(run: string): Promise<void> {
    await this.ask('merrow/deleteRun', { run });
  }

  /** Have a run continue as a document is now, or as it was by one of its revisions. A workflow that is refused is an answer, too. */
  revise(asked: { readonly run: string } & (Target | { readonly revision: number })): Promise<Revised> {
    return this.execute('merrow.revise', asked);
  }

  async decideRevision(run: string, revision: number, apply: boolean): Promise<void> {
    await this.execute('merrow.decideRevision', { run, revision, apply });
  }

  /** Have what a run became written into its document; the server sends the edit. */
  acceptRevision(asked: { readonly run: string; readonly revision?: number } & Partial<Target>): Promise<Accepted> {
    return this.execute('merrow.acceptRevision', asked);
  }

  /** A revision with its text and its picture; 0 is how the run began. */
  revision(run: string, revision: number): Promise<RevisionReport> {
    return this.ask('merrow/revision', { run, revision });
  }

  /** Make a case of a run; where it is. */
  saveAsCase(run: string): Promise<SavedCase> {
    return this.execute('merrow.saveAsCase', { run });
  }

  /** The typed graph of a workflow. */
  async graph(target: Target): Promise<TypedGraph> {
    const client = await this.context.readyClient();
    return client.sendRequest('workspace/executeCommand', { command: 'merrow.graph', arguments: [target.uri, target.diagram] });
  }

  private execute<Answer>(command: string, argument: unknown): Promise<Answer> {
    return execute(this.context, command, argument);
  }

  private async ask<Answer>(method: string, params: unknown): Promise<Answer> {
    const client = await this.context.readyClient();
    return client.sendRequest(method, params);
  }
}

/** What became of a revision that was asked for. */
export interface Revised extends Pick<Revision, 'revision' | 'state' | 'diff'> {
  readonly run: string;
  readonly reason?: string;
  /** Nobody works on the run: it continues so when it is resumed. */
  readonly resumes: boolean;
}

export interface Accepted extends Target {
  readonly accepted: boolean;
  readonly edits: number;
  /** What the run became. */
  readonly text: string;
  readonly why?: string;
}

export interface RevisionReport extends Revision {
  readonly run: string;
  readonly uri: string | null;
  readonly diagram: number;
  readonly text: string | null;
  readonly before: string | null;
  readonly drawing: Graph | null;
  /** The nodes of `drawing` that are gone. */
  readonly ghosts: readonly string[];
}

export interface SavedCase {
  readonly uri: string;
  readonly id: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
  readonly text: string;
}

export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly operator?: string | null;
  readonly label: string | null;
  readonly outputs?: readonly { readonly name: string; readonly type?: string | null }[];
  /** The labels of a Decision's cases. */
  readonly cases?: readonly string[];
}

export interface TypedGraph {
  readonly errors: number;
  readonly inputs: readonly string[];
  readonly order: readonly string[];
  readonly nodes: readonly GraphNode[];
}
