import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { page, webviewRoot } from '../preview/page';
import { told } from '../run/attempt';
import { sentence } from '../run/texts/rejection';
import type { Rating, Report } from './protocol';
import { reportHtml } from './reportHtml';
import type { EvaluationServer } from './server';
import { fileName } from '../jobs/item';

const VIEW_TYPE = 'merrow.evaluation';
/** Milliseconds in which news of an evaluation that goes on are put together. */
const PAUSE = 500;

type Said = 'ready' | 'resume' | { readonly run: string } | { readonly rate: Rating };

/** The pages of evaluations, one for each. */
export class ReportPanels implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly waiting = new Map<string, NodeJS.Timeout>();
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly context: MerrowContext,
    private readonly server: EvaluationServer,
  ) {
    const all = () => {
      for (const id of this.panels.keys()) this.soon(id);
    };
    this.listening = vscode.Disposable.from(
      server.onDidChange(all),
      server.onDidTell(({ evaluation }) => { this.soon(evaluation); }),
    );
  }

  /** Open the report of an evaluation, or bring it to the front. */
  async show(id: string): Promise<void> {
    const report = await this.server.report(id);
    const known = this.panels.get(report.evaluation);
    if (known !== undefined) {
      known.reveal(undefined, true);
      draw(known, report);
      return;
    }
    const options = { enableScripts: true, retainContextWhenHidden: true, enableFindWidget: true, localResourceRoots: [webviewRoot(this.context.extension)] };
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(VIEW_TYPE, `Evaluation of ${fileName(report.workflow)}`, column, options);
    this.panels.set(report.evaluation, panel);
    panel.onDidDispose(() => this.panels.delete(report.evaluation));
    panel.webview.onDidReceiveMessage((message: Said) => this.said(report.evaluation, panel, message));
    panel.webview.html = page(panel.webview, this.context.extension, 'evaluation');
  }

  dispose(): void {
    this.listening.dispose();
    for (const timer of this.waiting.values()) clearTimeout(timer);
    for (const panel of this.panels.values()) panel.dispose();
  }

  private async said(id: string, panel: vscode.WebviewPanel, message: Said): Promise<void> {
    if (message === 'resume') await vscode.commands.executeCommand(Command.resumeJob, { kind: 'evaluation', id });
    else if (message === 'ready') await this.load(id, panel);
    else if ('rate' in message) {
      await told(() => this.server.rate(id, message.rate));
      await this.load(id, panel);
    } else await vscode.commands.executeCommand(Command.openRun, { kind: 'run', summary: { run: message.run, uri: null } });
  }

  private soon(id: string): void {
    const panel = this.panels.get(id);
    if (panel === undefined || this.waiting.has(id)) return;
    this.waiting.set(id, setTimeout(() => {
      this.waiting.delete(id);
      if (this.panels.get(id) === panel) void this.load(id, panel);
    }, PAUSE));
  }

  private async load(id: string, panel: vscode.WebviewPanel): Promise<void> {
    try {
      draw(panel, await this.server.report(id));
    } catch (problem) {
      // It was deleted, or there is no server now: what is shown stays.
      this.context.log.info(`The report of evaluation ${id} is not renewed: ${sentence(problem)}`);
    }
  }
}

function draw(panel: vscode.WebviewPanel, report: Report): void {
  void panel.webview.postMessage({ html: reportHtml(report) });
}
