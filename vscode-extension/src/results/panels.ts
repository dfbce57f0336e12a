import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { fileName } from '../jobs/item';
import { execute } from '../jobs/execute';
import { page, webviewRoot } from '../preview/page';
import { told } from '../run/attempt';
import { sentence } from '../run/texts/rejection';
import type { FromResults, HeadAction, TableKind, TableName, ToResults } from './protocol';
import { ResultServer, type Of } from './server';

const VIEW_TYPE = 'merrow.results';
/** Milliseconds in which news of a job that goes on are put together, and how often longer than an answer took the next one waits. */
const PAUSE = 500;
const SHARE = 4;

const TITLES: Readonly<Record<TableKind, string>> = { evaluation: 'Evaluation of', batch: 'Answers of', comparison: 'Comparison of', search: 'Search for a better' };

interface Panel {
  readonly name: TableName;
  readonly panel: vscode.WebviewPanel;
  of: Of;
  /** Milliseconds that the last answer took. */
  took: number;
  timer: NodeJS.Timeout | undefined;
}

/** The pages with the rows of jobs, one for each job. */
export class ResultPanels implements vscode.Disposable {
  private readonly server: ResultServer;
  private readonly panels = new Map<string, Panel>();

  constructor(private readonly context: MerrowContext) {
    this.server = new ResultServer(context);
  }

  /** Open the rows of a job, or bring them to the front. Rejects with a sentence. */
  async show(name: TableName): Promise<void> {
    const known = this.panels.get(keyOf(name));
    if (known !== undefined) {
      known.panel.reveal(undefined, true);
      this.send(known, 'changed');
      return;
    }
    const { of } = await this.server.page(name, { offset: 0, limit: 1 }, true);
    if (of === undefined) return;
    const options = { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [webviewRoot(this.context.extension)] };
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(VIEW_TYPE, `${TITLES[name.kind]} ${fileName(of.workflow)}`, column, options);
    const shown: Panel = { name, panel, of, took: 0, timer: undefined };
    this.panels.set(keyOf(name), shown);
    panel.onDidDispose(() => {
      clearTimeout(shown.timer);
      this.panels.delete(keyOf(name));
    });
    panel.webview.onDidReceiveMessage((message: FromResults) => this.said(shown, message));
    panel.webview.html = page(panel.webview, this.context.extension, 'results');
  }

  /** Something happened to jobs of a kind, or to one of them: what is shown of it is asked for again, now and then. */
  changed(kind: TableKind, id?: string): void {
    for (const shown of this.panels.values()) {
      const { name } = shown;
      const isOf = name.kind === kind || (name.kind === 'comparison' && kind === 'evaluation');
      if (!isOf || (id !== undefined && name.id !== id && name.other !== id)) continue;
      shown.timer ??= setTimeout(() => {
        shown.timer = undefined;
        this.send(shown, 'changed');
      }, Math.max(PAUSE, SHARE * shown.took));
    }
  }

  dispose(): void {
    for (const { panel, timer } of this.panels.values()) {
      clearTimeout(timer);
      panel.dispose();
    }
  }

  private send({ panel }: Panel, message: ToResults): void {
    void panel.webview.postMessage(message);
  }

  private async said(shown: Panel, message: FromResults): Promise<void> {
    const { name } = shown;
    if ('turn' in message) await this.answer(shown, message);
    else if ('act' in message) await told(() => this.act(shown, message.act));
    else if ('run' in message) {
      await vscode.commands.executeCommand(Command.openRun, { kind: 'run', summary: { run: message.run, uri: shown.of.uri }, how: message.how });
    } else if ('rate' in message) {
      await told(() => execute(this.context, 'merrow.rateAnswer', { evaluation: name.id, ...message.rate }));
      this.send(shown, 'changed');
    } else {
      const given = { id: name.id, candidate: message.candidate };
      await vscode.commands.executeCommand(message.how === 'apply' ? Command.useCandidate : Command.openBetterVersion, given);
    }
  }

  private async answer(shown: Panel, message: Extract<FromResults, { turn: number }>): Promise<void> {
    const { turn } = message;
    const began = Date.now();
    try {
      if ('key' in message) {
        this.send(shown, { turn, whole: await this.server.whole(shown.name, message.key) });
        return;
      }
      const { page: rows, head, of } = await this.server.page(shown.name, message.page, message.head);
      shown.took = Date.now() - began;
      if (of !== undefined) shown.of = of;
      this.send(shown, head === undefined ? { turn, page: rows } : { turn, page: rows, head });
    } catch (problem) {
      // It was deleted, or there is no server now: what is shown stays.
      const said = sentence(problem);
      this.context.log.info(`Rows of ${shown.name.kind} ${shown.name.id} are not shown: ${said}`);
      this.send(shown, { turn, problem: said });
    }
  }

  private async act({ name, of }: Panel, act: HeadAction): Promise<void> {
    if (act === 'resume') await vscode.commands.executeCommand(Command.resumeJob, { kind: name.kind, id: name.id });
    else if (act === 'best') await vscode.commands.executeCommand(Command.openBetterVersion, { id: name.id });
    else if (of.file !== undefined) await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(vscode.Uri.file(of.file)), { viewColumn: vscode.ViewColumn.One });
  }
}

function keyOf({ kind, id, other = '' }: TableName): string {
  return `${kind} ${id} ${other}`;
}
