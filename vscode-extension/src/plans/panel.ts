import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { agreed } from '../jobs/consent';
import type { Manner } from '../jobs/execute';
import { page, webviewRoot } from '../preview/page';
import { sentence, wasLeft } from '../run/texts/rejection';
import { say } from '../say';
import type { FromPage, KeptPlan, Plans, ToPage, Wish } from './protocol';
import type { PlanServer } from './server';
import { aboutText, cardsOf } from './words';

/** The page on which a task is given and plans are chosen from. */
export class PlanPanel implements vscode.Disposable {
  private readonly panel: vscode.WebviewPanel;
  private readonly closed = new vscode.EventEmitter<undefined>();
  readonly onDidClose = this.closed.event;
  private found: Plans | undefined;
  private cancelling: vscode.CancellationTokenSource | undefined;
  private task = '';
  /** What a page that is not ready yet is to show. */
  private shown: ToPage = {};
  private isReady = false;

  constructor(
    private readonly context: MerrowContext,
    private readonly server: PlanServer,
  ) {
    const options = { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [webviewRoot(context.extension)] };
    this.panel = vscode.window.createWebviewPanel('merrow.plan', 'Plan a Workflow', vscode.ViewColumn.Active, options);
    const icon = (theme: string) => vscode.Uri.joinPath(context.extension.extensionUri, 'media', `preview-${theme}.svg`);
    this.panel.iconPath = { light: icon('light'), dark: icon('dark') };
    this.panel.onDidDispose(() => {
      this.cancelling?.cancel();
      this.closed.fire(undefined);
      this.closed.dispose();
    });
    this.panel.webview.onDidReceiveMessage((message: FromPage) => this.received(message));
    this.panel.webview.html = page(this.panel.webview, context.extension, 'plan');
  }

  /** Bring it to the front; a task that is not empty is put into its box. */
  show(task: string): void {
    this.panel.reveal();
    if (task === '') return;
    this.task = task;
    this.post({ task });
  }

  /** Show the plans of the journal, or that there are none yet. */
  showKept({ task, report, error }: KeptPlan): void {
    this.show(task);
    this.found = report ?? undefined;
    this.shown = { cards: report === null ? null : cardsOf(report), problem: report === null ? (error ?? 'There are no plans yet.') : null };
    this.post(this.shown);
  }

  /** Go on with plans that stopped. */
  async resume(id: string): Promise<void> {
    this.showKept(await this.server.report(id));
    await this.working((manner) => this.server.resume(id, manner));
  }

  dispose(): void {
    this.panel.dispose();
  }

  private post(news: ToPage): void {
    if (this.isReady) void this.panel.webview.postMessage(news);
  }

  private async received(message: FromPage): Promise<void> {
    if (message === 'ready') {
      this.isReady = true;
      this.post({ task: this.task, ...this.shown });
      await this.introduce();
    } else if (message === 'stop') this.cancelling?.cancel();
    else if ('plan' in message) await this.plan(message.plan);
    else await this.use(message.use);
  }

  /** Say which model plans, before anything is asked. */
  private async introduce(): Promise<void> {
    try {
      this.post({ about: aboutText(await this.server.forecast({ task: 'task', n: 1 })) });
    } catch (problem) {
      this.context.log.info(`Which model plans is not known: ${sentence(problem)}`);
    }
  }

  private plan(wish: Wish): Promise<void> {
    return this.working(async (manner) => {
      const { endpoint, mayCost, text, notices } = await this.server.forecast(wish, manner);
      if (!(await agreed(this.context, { endpoint, asks: mayCost, details: [text, ...notices] }, 'Ask the model for plans?', 'Ask the Model'))) return undefined;
      this.found = undefined;
      this.post({ cards: null, status: text });
      return this.server.begin(wish, manner);
    });
  }

  /** Have plans made, and show them; none where the user does not agree. */
  private async working(work: (manner: Manner) => Promise<Plans | undefined>): Promise<void> {
    if (this.cancelling !== undefined) return;
    const cancelling = (this.cancelling = new vscode.CancellationTokenSource());
    const done = this.context.busy('running', 'planning a workflow');
    this.post({ problem: null, status: 'Planning…' });
    try {
      // Its progress is shown on the page.
      const told = (message: string) => { this.post({ status: `${message.slice(0, 1).toUpperCase()}${message.slice(1)}…` }); };
      const found = await work({ token: cancelling.token, told });
      if (found === undefined) return;
      this.found = found;
      this.post({ cards: cardsOf(found) });
    } catch (problem) {
      if (!cancelling.token.isCancellationRequested && !wasLeft(problem)) this.post({ problem: sentence(problem) });
    } finally {
      this.post({ status: null });
      this.cancelling = undefined;
      cancelling.dispose();
      done.dispose();
    }
  }

  /** Open a plan as a new file with its preview. */
  private async use(rank: number): Promise<void> {
    const plan = this.found?.plans.find((one) => one.rank === rank);
    if (plan === undefined) return;
    try {
      const document = await vscode.workspace.openTextDocument({ language: 'mermaid', content: plan.text });
      await vscode.window.showTextDocument(document, { viewColumn: this.panel.viewColumn ?? vscode.ViewColumn.Active });
      await vscode.commands.executeCommand('merrow.showPreview', document.uri);
    } catch (problem) {
      void say.error(sentence(problem));
    }
  }
}
