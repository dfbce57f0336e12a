import * as vscode from 'vscode';
import { Command, Setting, defaults } from '../contributed';
import type { MerrowContext } from '../context';
import { told } from '../evaluations/reportPanels';
import type { EvaluationStart } from '../evaluations/starting';
import { fileName, statusText } from '../evaluations/words';
import { canReachModels } from '../run/access';
import { attempt } from '../run/attempt';
import { ageText, offline } from '../run/texts/figures';
import type { Target } from '../run/protocol';
import { sentence } from '../run/texts/rejection';
import { nameOf } from '../run/starting';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import { proposingOf, strategyOf } from './form';
import type { Search, SearchQuestion } from './protocol';
import type { SearchServer } from './server';
import { foundText, type SearchItem } from './words';

/** Searches that are offered for choice. */
const MOST = 100;
const VIEW_TYPE = 'merrow.search';

/** Searching for better workflows: commands, progress, reports. */
export function registerSearches(context: MerrowContext, start: EvaluationStart, server: SearchServer): vscode.Disposable {
  const reports = new Reports(server);
  const searching = new Searching(context, start, server, reports);
  const command = (id: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(id, act);
  const chosen = (act: (id: string) => Promise<unknown>, title: string) => (given: unknown) => told(async () => {
    const id = idOf(given) ?? (await pick(server, title));
    if (id !== undefined) await act(id);
  });
  return vscode.Disposable.from(
    reports,
    command(Command.optimizeWorkflow, (given) => searching.optimize(given)),
    command(Command.openSearch, chosen((id) => reports.show(id), 'Show which search?')),
    command(Command.openBetterVersion, chosen((id) => showBetter(server, id), 'Compare with the best of which search?')),
    command(Command.resumeSearch, (given) => told(async () => {
      const id = idOf(given);
      if (id !== undefined) await searching.resume(id);
    })),
    command(Command.stopSearch, (given) => told(async () => {
      const id = idOf(given);
      if (id !== undefined) await server.cancel(id);
    })),
    command(Command.deleteSearches, (given, all) => told(() => deleteAll(server, given, all))),
    intercept('merrow.optimize', (given) => searching.optimize(given)),
    intercept('merrow.optimizationReport', (given) => vscode.commands.executeCommand(Command.openSearch, given)),
    intercept('merrow.showBetter', (given) => vscode.commands.executeCommand(Command.openBetterVersion, given)),
  );
}

/** Begins searches, shows how far they are, and says how they ended. */
class Searching {
  constructor(
    private readonly context: MerrowContext,
    private readonly start: EvaluationStart,
    private readonly server: SearchServer,
    private readonly reports: Reports,
  ) {}

  async optimize(given: unknown): Promise<void> {
    await attempt(this.context, async () => {
      const target = await targetOf(this.context, given);
      if (target === undefined) {
        void say.info(NO_WORKFLOW);
        return;
      }
      const question = asked(given) ?? (await this.question(target));
      if (question === undefined || !(await this.agreed(target, question))) return;
      await this.follow(nameOf(target), target.uri, () => this.server.optimize(target, question));
    });
  }

  async resume(id: string): Promise<void> {
    await attempt(this.context, async () => {
      const { workflow, uri, search } = await this.server.report(id);
      await this.follow(fileName(workflow), uri, () => this.server.resume(search), search);
    });
  }

  private async question(target: Target): Promise<SearchQuestion | undefined> {
    const title = `Optimize ${nameOf(target)}`;
    const strategy = await strategyOf(title, await this.server.strategies());
    const found = strategy === undefined ? undefined : await this.start.data(target, title);
    if (found === undefined) return undefined;
    const proposing = strategy === undefined ? undefined : await proposingOf(title, strategy);
    if (strategy === undefined || proposing === undefined) return undefined;
    const evaluations = await this.start.count(title, 'At most how many answers may the search use?', [500, 1000, 2000, 5000].map((size) => ({ label: `${size} answers`, value: size })));
    return evaluations === undefined ? undefined : { ...found, strategy, ...proposing, evaluations };
  }

  /** Whether a search may begin: what reaches its endpoint is there, and the user agreed to what it may cost. */
  private async agreed(target: Target, question: SearchQuestion): Promise<boolean> {
    const forecast = await this.server.forecast(target, question);
    if (forecast.endpoint !== offline && !(await canReachModels(this.context))) return false;
    const asks = vscode.workspace.getConfiguration('merrow').get(Setting.confirmRuns, defaults.confirmRuns);
    if (!asks || forecast.free) return true;
    const detail = [forecast.text, `The model is at ${forecast.endpoint}.`, ...forecast.notes].join('\n\n');
    return (await say.info(`Search for a better ${nameOf(target)}?`, { modal: true, detail }, 'Search')) === 'Search';
  }

  /** Show how far a search is, until it ends; then its report. */
  private async follow(name: string, uri: string | null, begin: () => Promise<Search>, known?: string): Promise<void> {
    const options = { location: vscode.ProgressLocation.Notification, title: `Searching for a better ${name}`, cancellable: true };
    const ended = await vscode.window.withProgress(options, async (progress, token) => {
      let [shown, id] = [0, known];
      let stopped = false;
      /** The server was told to stop it: it is told once, since later there is nothing to stop. */
      let isTold = false;
      const stop = async () => {
        stopped = true;
        if (id === undefined || isTold) return;
        isTold = true;
        await this.server.cancel(id).catch((problem: unknown) => say.error(sentence(problem)));
      };
      const listening = [
        this.server.onDidTell((news) => {
          const own = id === undefined ? news.uri !== null && vscode.Uri.parse(news.uri).toString() === uri : news.search === id;
          if (!own) return;
          id = news.search;
          if (stopped) void stop();
          const share = news.total === 0 ? 0 : (100 * Math.min(news.done, news.total)) / news.total;
          const answers = news.total === 0 ? `${news.done}` : `${news.done} of ${news.total}`;
          progress.report({ message: `${answers} answers, ${news.text}`, increment: share - shown });
          shown = share;
        }),
        token.onCancellationRequested(stop),
      ];
      try {
        return await begin();
      } finally {
        for (const one of listening) one.dispose();
      }
    });
    await this.reports.show(ended.search);
    const actions = [...(ended.crown === 0 ? [] : ['Compare']), ...(ended.status === 'finished' ? [] : ['Continue'])];
    const reason = ended.error === null ? '' : ` ${ended.error}`;
    const told = ended.status === 'finished'
      ? say.info(`The search for a better ${name} has ended: ${foundText(ended)}.`, ...actions)
      : say.warning(`The search for a better ${name} was ${statusText(ended.status)}; finished work is kept.${reason}`, ...actions);
    // Whoever waits for the answer need not know of the message.
    void told.then((chosen) => {
      if (chosen === 'Compare') void vscode.commands.executeCommand(Command.openBetterVersion, { id: ended.search });
      if (chosen === 'Continue') void this.resume(ended.search);
    });
  }
}

/** The reports of searches, a page without scripts for each, as the server makes it. */
class Reports implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly listening: vscode.Disposable;

  constructor(private readonly server: SearchServer) {
    this.listening = server.onDidChange(() => {
      for (const id of this.panels.keys()) void this.renew(id);
    });
  }

  /** Open the report of a search, or bring it to the front. */
  async show(id: string): Promise<void> {
    const report = await this.server.report(id);
    let panel = this.panels.get(report.search);
    if (panel === undefined) {
      const options = { enableScripts: false, enableFindWidget: true, localResourceRoots: [] };
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      panel = vscode.window.createWebviewPanel(VIEW_TYPE, `Search for a better ${fileName(report.workflow)}`, column, options);
      this.panels.set(report.search, panel);
      panel.onDidDispose(() => this.panels.delete(report.search));
    } else panel.reveal(undefined, true);
    panel.webview.html = report.html;
  }

  dispose(): void {
    this.listening.dispose();
    for (const panel of this.panels.values()) panel.dispose();
  }

  private async renew(id: string): Promise<void> {
    const report = await this.server.report(id).catch(() => undefined);
    const panel = this.panels.get(id);
    // Without an answer there is no server now: what is shown stays.
    if (panel !== undefined && report !== undefined) panel.webview.html = report.html;
  }
}

/** The best workflow of a search as a difference to the file as it is now. */
async function showBetter(server: SearchServer, id: string): Promise<void> {
  const { uri, file, workflow, search } = await server.better(id);
  const best = vscode.Uri.file(file);
  if (uri === null) await vscode.window.showTextDocument(best);
  else await vscode.commands.executeCommand('vscode.diff', vscode.Uri.parse(uri), best, `${fileName(workflow)} ↔ best of search ${search}`);
}

/** Take searches out of the journal, once the user says so. */
async function deleteAll(server: SearchServer, given: unknown, all: unknown): Promise<void> {
  const chosen = (Array.isArray(all) ? all : [given]).map(idOf).filter((id) => id !== undefined);
  if (chosen.length === 0) return;
  const what = chosen.length === 1 ? `the search ${chosen[0] ?? ''}` : `${chosen.length} searches`;
  const detail = 'Candidates, scores and runs go from the journal; the files of candidates stay, and so does what models answered in the cache. This can’t be undone.';
  if ((await say.warning(`Delete ${what}?`, { modal: true, detail }, 'Delete')) !== 'Delete') return;
  for (const id of chosen) await server.delete(id);
}

/** The question that somebody else asked already, such as a program. */
function asked(given: unknown): SearchQuestion | undefined {
  return typeof given === 'object' && given !== null && 'dataset' in given && 'evaluations' in given ? (given as SearchQuestion & Target) : undefined;
}

/** The search that a command was given: an item of the tree, or an object with its id. */
function idOf(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  if ('kind' in given) return given.kind === 'search' ? (given as SearchItem).search.search : undefined;
  return 'id' in given && typeof given.id === 'string' ? given.id : undefined;
}

async function pick(server: SearchServer, title: string): Promise<string | undefined> {
  const now = Date.now() / 1000;
  const found = await server.list(MOST);
  if (found.length === 0) {
    void say.info('There are no searches yet. Make one with “Merrow: Optimize This Workflow”.');
    return undefined;
  }
  const items = found.map((one) => ({
    label: `${fileName(one.workflow)}: ${foundText(one)}`,
    description: `${fileName(one.dataset)} · ${ageText(one.started, now)}`,
    detail: one.search,
    id: one.search,
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true, matchOnDescription: true }))?.id;
}
