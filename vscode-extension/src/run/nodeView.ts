import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import type { PreviewManager } from '../preview/manager';
import { page, webviewRoot } from '../preview/page';
import type { LiveRuns } from './live';
import { ageText } from './figures';
import { Following, type Shown } from './following';
import { earlierHtml, escape, nodeHtml, runHtml } from './nodeHtml';
import { shortName } from './pages';
import { visitName } from './progress';
import type { NodeReport, RunReport } from './protocol';
import { selector } from '../selector';
import type { RunServer } from './server';
import { sentence } from './rejection';
import { nameOf } from './starting';

export const NODE_VIEW = 'merrow.runNode';
/** Milliseconds between two pictures of a node that is answering. */
const PAUSE = 250;

/** What the page says: it is there, or somebody wants to see the newest run, to set an output of the node, or to see the node in another turn or item. */
type Said = 'ready' | 'newest' | 'set' | { readonly visit: string };

/**
 * The panel that shows what a node of a run was given, asked, remembered and answered; while it runs, the answer as it comes. It
 * follows the newest run of the active file.
 */
export class NodeView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private readonly following = new Following();
  private report: RunReport | undefined;
  private problem = '';
  private text = '';
  private timer: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly live: LiveRuns,
    previews: PreviewManager,
  ) {
    this.disposables = [
      vscode.window.registerWebviewViewProvider(NODE_VIEW, this),
      live.onDidHappen(({ run, event }) => {
        if (event.event === 'run_started' && run.target.uri !== '') {
          const nodes = run.progress.states(0);
          if (this.following.began(run.target.uri, event.run, (node) => nodes.has(node))) this.turned();
        }
        const { shown } = this.following;
        if (shown?.run !== event.run || (event.node !== null && shown.node !== undefined && event.node !== shown.node && visitName(event) !== shown.node)) return;
        if (event.event === 'node_output') this.text += event.text ?? '';
        else if (event.event === 'node_retrying' || event.event === 'node_started') this.text = '';
        else void this.load();
        this.soon();
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor !== undefined && vscode.languages.match(selector, editor.document) > 0) this.activated(editor.document.uri);
      }),
      previews.onDidActivate((uri) => {
        this.activated(uri);
      }),
    ];
  }

  /** Show a node of a run of a document, with the panel opened where it is not; the focus stays where it is. */
  async show(run: string, node: string, uri?: string): Promise<void> {
    const before = this.following.shown;
    this.following.choose(uri ?? this.live.byId(run)?.target.uri, run, node);
    if (before?.run !== run || before.node !== node) this.forget();
    if (this.view === undefined) await vscode.commands.executeCommand(`${NODE_VIEW}.focus`, { preserveFocus: true });
    else this.view.show(true);
    await this.load();
  }

  /** What is shown, to open it as a document. */
  get current(): Shown | undefined {
    return this.following.shown;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [webviewRoot(this.context.extension)] };
    view.webview.onDidReceiveMessage((message: Said) => {
      const { shown } = this.following;
      if (typeof message === 'object' && shown !== undefined) {
        void this.show(shown.run, message.visit);
        return;
      }
      if (message === 'set') {
        if (shown?.node !== undefined) void vscode.commands.executeCommand(Command.setNodeOutput, { run: shown.run, node: shown.node });
        return;
      }
      if (message === 'newest' && this.following.follow()) this.forget();
      void this.load();
      this.draw();
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

  private activated(uri: vscode.Uri): void {
    if (this.following.activated(uri.toString())) this.turned();
    else this.draw();
  }

  /** Something else is shown now. */
  private turned(): void {
    this.forget();
    void this.load();
    this.draw();
  }

  private forget(): void {
    [this.text, this.report, this.problem] = ['', undefined, ''];
  }

  /** Ask for what the journal has of the node; a run as a whole is drawn from its events. */
  private async load(): Promise<void> {
    const { shown } = this.following;
    if (shown === undefined) return;
    if (shown.node !== undefined && this.view !== undefined) {
      try {
        const report = await this.server.show(shown.run, shown.node);
        if (this.following.shown !== shown) return;
        this.report = report;
        // The journal has the whole of what was read along.
        if (report.nodes[0] !== undefined && report.nodes[0].status !== 'unfinished') this.text = '';
      } catch (problem) {
        if (this.following.shown === shown) this.problem = sentence(problem);
      }
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
    const { view } = this;
    if (view === undefined) return;
    const { shown } = this.following;
    const file = this.file();
    view.description = [shown?.node, file].filter((part) => part).join(' · ');
    void view.webview.postMessage({ key: shown === undefined ? '' : `${shown.run} ${shown.node ?? ''}`, html: shown === undefined ? NOTHING : this.html(shown, file) });
  }

  private html({ run, node: name }: Shown, file: string): string {
    const parts: string[] = [];
    if (this.following.isEarlier) {
      const age = this.report === undefined ? '' : ageText(this.report.started, Date.now() / 1000);
      parts.push(earlierHtml(file, run, age, this.following.hasNewer));
    }
    const progress = this.live.byId(run)?.progress;
    if (name === undefined) {
      if (progress !== undefined) parts.push(runHtml(file, progress));
    } else {
      const node: NodeReport | undefined = this.report?.nodes[0];
      const living = progress?.states(0).get(this.report?.nodes[0]?.id ?? name)?.state;
      const state = node !== undefined && node.status !== 'unfinished' ? node.status : living === 'cancelled' ? 'stopped' : (living ?? '');
      parts.push(nodeHtml(run, name, this.report, state, this.text));
    }
    if (this.problem !== '') parts.push(`<p class="failure">${escape(this.problem)}</p>`);
    return parts.join('\n');
  }

  /** The name of the file whose run is shown. */
  private file(): string {
    const { shown } = this.following;
    const target = shown === undefined ? undefined : this.live.byId(shown.run)?.target;
    if (target !== undefined && target.uri !== '') return nameOf(target);
    return this.report === undefined ? '' : shortName(this.report.workflow);
  }
}

const NOTHING = '<p class="about">Click a node of a run in the preview to see what it was given, what it was asked and what it answered.</p>';
