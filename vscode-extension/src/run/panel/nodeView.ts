import * as vscode from 'vscode';
import { Command } from '../../contributed';
import type { MerrowContext } from '../../context';
import type { PreviewManager } from '../../preview/manager';
import { page, webviewRoot } from '../../preview/page';
import type { LiveRuns } from '../live';
import type { RunDocuments } from '../texts/documents';
import { ageText, endpointName } from '../texts/figures';
import { Following, type Shown } from './following';
import { escape } from './markdownHtml';
import { earlierHtml, nodeHtml, pageHtml, runHtml, wholeOf } from './nodeHtml';
import { shortName } from '../texts/pages';
import { visitName } from '../progress';
import type { Episode, NodeReport, RunReport, Values } from '../protocol';
import { selector } from '../../selector';
import type { RunServer } from '../server';
import { sentence } from '../texts/rejection';
import { nameOf } from '../targets';
import type { Text } from './valueHtml';

export const NODE_VIEW = 'merrow.runNode';
/** Milliseconds between two pictures of a node that is answering. */
const PAUSE = 250;
/** Milliseconds that the status bar says that something was copied. */
const COPIED = 2000;

/**
 * What the page says: it is there, or somebody wants to see the newest run or all of this one, to set an output of the node, to choose who
 * answers, to see another node (or this one in another turn or item) or what a revision changed, to copy a text of the page, or to open it as a document.
 */
type Said = 'ready' | 'newest' | 'whole' | 'set' | 'model' | 'case' | { readonly visit: string } | { readonly revision: number } | { readonly copy: string } | { readonly open: string };

/** Something to read that is no run: a dry run. */
interface Page {
  readonly title: string;
  readonly text: string;
}

/**
 * The panel that shows a run: its results, or what a node of it was given, asked, remembered and answered; while it runs, the answer as it
 * comes. It follows the newest run of the active file.
 */
export class NodeView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private readonly following = new Following();
  private report: RunReport | undefined;
  private problem = '';
  private text = '';
  /** Of a run that goes on and is shown as a whole: its newest episode. */
  private episodes: readonly Episode[] | undefined;
  /** By runs that go on, the visit in which an environment was acted in last. */
  private readonly acted = new Map<string, string>();
  private isAsking = false;
  private page: Page | undefined;
  /** The texts of what is shown, by the keys of its buttons. */
  private texts = new Map<string, Text>();
  private timer: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly live: LiveRuns,
    private readonly documents: RunDocuments,
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
        if (event.event === 'node_finished' && isSeen(event.outputs)) {
          this.acted.set(event.run, visitName(event));
          void this.watch(event.run);
        } else if (event.node === null && run.progress.isOver) this.acted.delete(event.run);
        if (shown?.run !== event.run || (event.node !== null && shown.node !== undefined && event.node !== shown.node && visitName(event) !== shown.node)) return;
        if (event.event === 'node_output') this.text += event.text ?? '';
        else if (event.event === 'node_retrying' || event.event === 'node_started' || event.event === 'node_judged') this.text = '';
        else if (event.event === 'node_step') this.text = ''; // What the model said before it is done with.
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

  /** Show a node of a run of a document, or all of the run, with the panel opened where it is not; the focus stays where it is. */
  async show(run: string, node: string | undefined, uri?: string): Promise<void> {
    const before = this.following.shown;
    this.following.choose(uri ?? this.live.byId(run)?.target.uri, run, node);
    if (before?.run !== run || before.node !== node) this.forget();
    await this.reveal();
    await this.load();
  }

  /** Show how a run ended: what is looked at of it stays. */
  async showEnd(run: string, uri: string | undefined): Promise<void> {
    if (this.following.shown?.run === run && this.page === undefined) await this.reveal();
    else await this.show(run, undefined, uri);
  }

  /** Show a page in Markdown, until something of a run is chosen or begins. */
  async showPage(title: string, text: string): Promise<void> {
    this.page = { title, text };
    await this.reveal();
    this.draw();
  }

  /** Open what is shown as a document. */
  async openAsDocument(): Promise<void> {
    const { shown } = this.following;
    if (this.page !== undefined) await this.documents.showText(`${this.page.title}.md`, this.page.text);
    else if (shown?.node !== undefined) await this.documents.showNode(shown.run, shown.node);
    else if (shown !== undefined) await this.documents.showResult(shown.run, this.file() || 'run');
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [webviewRoot(this.context.extension)] };
    view.webview.onDidReceiveMessage((message: Said) => void this.said(message));
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = page(view.webview, this.context.extension, 'node');
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const part of this.disposables) part.dispose();
  }

  private async reveal(): Promise<void> {
    if (this.view === undefined) await vscode.commands.executeCommand(`${NODE_VIEW}.focus`, { preserveFocus: true });
    else this.view.show(true);
  }

  private async said(message: Said): Promise<void> {
    const { shown } = this.following;
    if (typeof message === 'object') {
      const text = this.texts.get('copy' in message ? message.copy : 'open' in message ? message.open : '');
      if ('revision' in message) {
        if (shown !== undefined) await vscode.commands.executeCommand(Command.showRevision, { run: shown.run, revision: message.revision });
      } else if ('visit' in message) {
        if (shown !== undefined) await this.show(shown.run, message.visit);
      } else if (text !== undefined && 'copy' in message) {
        await vscode.env.clipboard.writeText(text.text);
        vscode.window.setStatusBarMessage('$(check) Copied', COPIED);
      } else if (text !== undefined) await this.documents.showText(text.name, text.text);
      return;
    }
    switch (message) {
      case 'set':
        if (shown?.node !== undefined) await vscode.commands.executeCommand(Command.setNodeOutput, { run: shown.run, node: shown.node });
        break;
      case 'case':
        if (shown !== undefined) await vscode.commands.executeCommand(Command.saveRunAsCase, { run: shown.run });
        break;
      case 'model':
        await vscode.commands.executeCommand(Command.chooseModel);
        break;
      case 'whole':
        if (shown !== undefined) await this.show(shown.run, undefined);
        break;
      case 'newest':
        if (this.following.follow()) this.forget();
        await this.load();
        break;
      case 'ready':
        await this.load();
    }
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
    [this.text, this.report, this.problem, this.page, this.episodes] = ['', undefined, '', undefined, undefined];
  }

  /** Ask for what the journal has; a run that goes on is drawn from its events. */
  private async load(): Promise<void> {
    const { shown } = this.following;
    if (shown !== undefined) void this.watch(shown.run);
    if (shown !== undefined && this.view !== undefined && (shown.node !== undefined || this.live.byId(shown.run)?.progress.isOver !== false)) {
      try {
        const report = await this.server.show(shown.run, shown.node);
        if (this.following.shown !== shown) return;
        this.report = report;
        // The journal has the whole of what was read along.
        if (shown.node !== undefined && report.nodes[0] !== undefined && report.nodes[0].status !== 'unfinished') this.text = '';
      } catch (problem) {
        if (this.following.shown === shown) this.problem = sentence(problem);
      }
    }
    this.draw();
  }

  /** Ask for the newest episode of a run that is shown as a whole. What happens meanwhile is asked for afterwards, all of it at once. */
  private async watch(run: string): Promise<void> {
    if (this.isAsking || this.view === undefined) return;
    this.isAsking = true;
    try {
      for (let asked = ''; this.isWhole(run); ) {
        const acted = this.acted.get(run);
        if (acted === undefined || acted === asked) break;
        asked = acted;
        const { episodes } = await this.server.show(run, asked);
        if (this.isWhole(run)) this.episodes = episodes;
        this.soon();
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    } catch (problem) {
      this.problem = sentence(problem);
    } finally {
      this.isAsking = false;
    }
  }

  private isWhole(run: string): boolean {
    const { shown } = this.following;
    return shown?.run === run && shown.node === undefined;
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
    const [file, page] = [this.file(), this.page];
    this.texts = new Map();
    if (page !== undefined) {
      view.description = page.title;
      void view.webview.postMessage({ key: `page ${page.title}`, html: pageHtml(page.title, page.text, this.texts) });
      return;
    }
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
      if (this.report !== undefined) parts.push(runHtml(file, wholeOf(this.report), this.report, this.texts));
      else if (progress !== undefined) parts.push(runHtml(file, { ...progress.whole, by: endpointName(progress.endpoint ?? ''), episodes: this.episodes }, undefined, this.texts));
    } else {
      const node: NodeReport | undefined = this.report?.nodes[0];
      const living = progress?.states(0).get(this.report?.nodes[0]?.id ?? name)?.state;
      const state = node !== undefined && node.status !== 'unfinished' ? node.status : living === 'cancelled' ? 'stopped' : (living ?? '');
      const isOver = node !== undefined && node.status !== 'unfinished';
      parts.push(nodeHtml(run, name, this.report, state, this.text, this.texts, isOver ? [] : progress?.steps(node?.node ?? name)));
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

/** Whether a node gave what an environment does. */
function isSeen(outputs: Values = {}): boolean {
  return 'observation' in outputs && typeof outputs['reward'] === 'number';
}

const NOTHING = '<p class="about">Click a node of a run in the preview to see what it was given, what it was asked and what it answered.</p>';
