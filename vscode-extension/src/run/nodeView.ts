import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { page, webviewRoot } from '../preview/page';
import type { LiveRuns } from './live';
import { nodeHtml } from './nodeHtml';
import type { NodeReport, RunReport } from './protocol';
import type { RunServer } from './server';
import { sentence } from './server';

export const NODE_VIEW = 'merrow.runNode';
/** Milliseconds between two pictures of a node that is answering. */
const PAUSE = 250;

interface Shown {
  readonly run: string;
  readonly node: string;
}

/** The panel that shows what a node of a run was asked, remembered and answered; while it runs, the answer as it comes. */
export class NodeView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private shown: Shown | undefined;
  private report: RunReport | undefined;
  private problem = '';
  private text = '';
  private timer: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly live: LiveRuns,
  ) {
    this.disposables = [
      vscode.window.registerWebviewViewProvider(NODE_VIEW, this),
      live.onDidHappen(({ event }) => {
        const { shown } = this;
        if (shown?.run !== event.run || (event.node !== shown.node && event.node !== null)) return;
        if (event.event === 'node_output') this.text += event.text ?? '';
        else if (event.event === 'node_retrying' || event.event === 'node_started') this.text = '';
        else void this.load();
        this.soon();
      }),
    ];
  }

  /** Show a node, with the panel opened where it is not; the focus stays where it is. */
  async show(run: string, node: string): Promise<void> {
    if (this.shown?.run !== run || this.shown.node !== node) [this.text, this.report, this.problem] = ['', undefined, ''];
    this.shown = { run, node };
    if (this.view === undefined) await vscode.commands.executeCommand(`${NODE_VIEW}.focus`, { preserveFocus: true });
    else this.view.show(true);
    await this.load();
  }

  /** What is shown, to open it as a document. */
  get current(): Shown | undefined {
    return this.shown;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [webviewRoot(this.context.extension)] };
    view.webview.onDidReceiveMessage((message: unknown) => {
      if (message === 'ready') this.draw();
    });
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = page(view.webview, this.context.extension, 'node');
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const part of this.disposables) part.dispose();
  }

  private async load(): Promise<void> {
    const { shown } = this;
    if (shown === undefined) return;
    try {
      const report = await this.server.show(shown.run, shown.node);
      if (this.shown !== shown) return;
      this.report = report;
      // The journal has the whole of what was read along.
      if (report.nodes[0] !== undefined && report.nodes[0].status !== 'unfinished') this.text = '';
    } catch (problem) {
      if (this.shown === shown) this.problem = sentence(problem);
    }
    this.draw();
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, PAUSE);
  }

  private draw(): void {
    const { shown, view } = this;
    if (view === undefined) return;
    const node: NodeReport | undefined = this.report?.nodes[0];
    const progress = shown === undefined ? undefined : this.live.byId(shown.run)?.progress;
    const living = shown === undefined ? undefined : progress?.states(0).get(shown.node)?.state;
    const state = node !== undefined && node.status !== 'unfinished' ? node.status : (living ?? '');
    view.description = shown?.node ?? '';
    const html =
      shown === undefined
        ? '<p class="about">Click a node of a run in the preview to see what it was asked and what it answered.</p>'
        : nodeHtml(shown.run, shown.node, this.report, state, this.text) + (this.problem === '' ? '' : nodeProblem(this.problem));
    void view.webview.postMessage({ key: shown === undefined ? '' : `${shown.run} ${shown.node}`, html });
  }
}

function nodeProblem(problem: string): string {
  return `<p class="failure">${problem.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`;
}
