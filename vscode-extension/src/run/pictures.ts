import * as vscode from 'vscode';
import type { Graph } from '../preview/protocol';
import type { PreviewManager } from '../preview/manager';
import type { LiveRun, LiveRuns } from './live';
import type { RunReport } from './protocol';
import { reportPicture } from './reportPicture';

/** Milliseconds between two pictures of a run that goes on, and between those that only tell the time. */
const PAUSE = 80;
const TICK = 1000;

/** Runs in the previews: the live ones as they go on, and any of the journal when it is opened. */
export class RunPictures implements vscode.Disposable {
  /** The run that each document's preview shows. */
  private readonly shown = new Map<string, string>();
  private readonly waiting = new Set<LiveRun>();
  private timer: NodeJS.Timeout | undefined;
  private clock: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly previews: PreviewManager,
    private readonly live: LiveRuns,
  ) {
    this.disposables = [
      live.onDidHappen(({ run, event }) => {
        if (run.target.uri === '') return;
        if (event.event === 'run_started') this.shown.set(run.target.uri, run.progress.run);
        if (event.event === 'node_output' || this.shown.get(run.target.uri) !== run.progress.run) return;
        this.again(run);
      }),
      live.onDidHappenInside(({ run, event }) => {
        // A called file shows the run that came to it last.
        if (event.node !== null && event.event !== 'node_output') this.shown.set(run.target.uri, run.progress.run);
        if (this.shown.get(run.target.uri) === run.progress.run) this.again(run);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        live.forget(uri.toString());
        this.shown.delete(uri.toString());
      }),
    ];
  }

  /** The run that a document's preview shows. */
  of(uri: string): string | undefined {
    return this.shown.get(uri);
  }

  /** Something else is to be shown of a run. */
  again(run: LiveRun): void {
    this.waiting.add(run);
    this.timer ??= setTimeout(() => { this.draw(); }, PAUSE);
  }

  /** Show a run of the journal in the preview of its document; `revised` is what it became. */
  showReport(report: RunReport, revised?: Graph): void {
    if (report.uri === null) return;
    const uri = vscode.Uri.parse(report.uri);
    this.shown.set(uri.toString(), report.run);
    this.previews.showRun(uri, reportPicture(report, revised));
  }

  /** Show the bare diagram again. */
  clear(uri: vscode.Uri): void {
    this.shown.delete(uri.toString());
    this.previews.showRun(uri, undefined);
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearInterval(this.clock);
    for (const part of this.disposables) part.dispose();
  }

  private draw(): void {
    this.timer = undefined;
    const now = Date.now() / 1000;
    for (const run of this.waiting) {
      if (this.shown.get(run.target.uri) === run.progress.run) this.previews.showRun(vscode.Uri.parse(run.target.uri), run.progress.picture(now));
    }
    this.waiting.clear();
    if (this.live.running.length === 0) {
      clearInterval(this.clock);
      this.clock = undefined;
    } else {
      this.clock ??= setInterval(() => {
        for (const run of this.live.running) for (const shown of [run, ...this.live.inCalled(run.progress.run)]) this.waiting.add(shown);
        this.draw();
      }, TICK);
    }
  }
}
