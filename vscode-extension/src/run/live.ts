import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import type { MerrowContext } from '../context';
import { INTERRUPTED, Progress } from './progress';
import { pathInside } from './texts/loops';
import type { RunEvent, RunNotice, Target } from './protocol';

/** A run of this window, going on or over, with the document that it is shown on. */
export interface LiveRun {
  readonly target: Target;
  readonly progress: Progress;
}

export interface Happened {
  readonly run: LiveRun;
  readonly event: RunEvent;
}

/** The runs that the server tells of: the newest of each diagram, and whatever goes on. */
export class LiveRuns implements vscode.Disposable {
  private readonly byRun = new Map<string, LiveRun>();
  private readonly newest = new Map<string, LiveRun>();
  /** What runs do in the files that they call, by run and file; each is shown on that file. */
  private readonly called = new Map<string, Map<string, LiveRun>>();
  private readonly expected = new Map<string, readonly string[]>();
  private readonly happened = new vscode.EventEmitter<Happened>();
  readonly onDidHappen = this.happened.event;
  private readonly inside = new vscode.EventEmitter<Happened>();
  /** The same of what happens in called files, as it is shown on these. */
  readonly onDidHappenInside = this.inside.event;
  private readonly disposables: { dispose(): unknown }[] = [this.happened, this.inside];

  constructor(context: MerrowContext) {
    this.disposables.push(
      context.onDidChangeClient((client) => {
        this.listen(client);
      }),
    );
    this.listen(context.client());
  }

  /** What runs now, the newest last. */
  get running(): readonly LiveRun[] {
    return [...this.byRun.values()].filter(({ progress }) => !progress.isOver);
  }

  /** The newest run of a document, of any of its diagrams or the one that is named. */
  of(uri: string, diagram?: number): LiveRun | undefined {
    const own = [...this.newest.values()].filter(({ target }) => target.uri === uri && (diagram === undefined || target.diagram === diagram));
    return own.at(-1);
  }

  /** The run that began last. */
  get last(): LiveRun | undefined {
    return [...this.byRun.values()].at(-1);
  }

  byId(run: string): LiveRun | undefined {
    return this.byRun.get(run);
  }

  /** The nodes that the next run of a diagram is about. */
  expect(target: Target, nodes: readonly string[]): void {
    this.expected.set(placeOf(target), nodes);
  }

  forget(uri: string): void {
    for (const [place, { target, progress }] of this.newest) {
      if (target.uri !== uri || !progress.isOver) continue;
      this.newest.delete(place);
      this.byRun.delete(progress.run);
      this.called.delete(progress.run);
    }
  }

  /** What a run does in the files that it calls. */
  inCalled(run: string): readonly LiveRun[] {
    return [...(this.called.get(run)?.values() ?? [])];
  }

  dispose(): void {
    for (const part of this.disposables) part.dispose();
  }

  private listen(client: LanguageClient | undefined): void {
    if (client === undefined) {
      // What a server worked on that is gone can be resumed from the journal.
      for (const run of this.running) {
        this.tell(run, { schema: 2, number: run.progress.last + 1, event: 'run_failed', run: run.progress.run, node: null, path: '', at: Date.now() / 1000, error: 'The language server ended. What had finished is kept: resume the run.', code: INTERRUPTED });
      }
      return;
    }
    client.onNotification('merrow/runEvent', (notice: RunNotice) => {
      this.take(notice);
    });
  }

  private take({ uri, diagram, event, inside }: RunNotice): void {
    let run = this.byRun.get(event.run);
    if (run === undefined || (run.progress.isOver && event.event === 'run_started')) {
      const target = { uri: uri === null ? '' : vscode.Uri.parse(uri).toString(), diagram };
      run = { target, progress: new Progress(event.run, this.expected.get(placeOf(target)) ?? []) };
      this.byRun.set(event.run, run);
      this.called.delete(event.run);
      // Taken out first, so that the newest is the last.
      this.newest.delete(placeOf(target));
      this.newest.set(placeOf(target), run);
    }
    this.tell(run, event);
    if (inside !== undefined && event.node !== null) this.tellInside(event, { ...inside, uri: vscode.Uri.parse(inside.uri).toString() });
  }

  private tellInside(event: RunEvent, target: Target): void {
    const files = this.called.get(event.run) ?? new Map<string, LiveRun>();
    this.called.set(event.run, files);
    const run = files.get(target.uri) ?? { target, progress: new Progress(event.run) };
    files.set(target.uri, run);
    const own = { ...event, path: pathInside(event.path) };
    run.progress.take(own);
    this.inside.fire({ run, event: own });
  }

  private tell(run: LiveRun, event: RunEvent): void {
    run.progress.take(event);
    this.happened.fire({ run, event });
    if (event.node !== null) return;
    for (const called of this.inCalled(event.run)) {
      called.progress.take(event);
      this.inside.fire({ run: called, event });
    }
  }
}

export function placeOf({ uri, diagram }: Target): string {
  return `${uri}#${diagram}`;
}
