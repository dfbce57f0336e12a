import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import type { Evaluation, Row } from '../evaluations/protocol';
import type { EvaluationServer } from '../evaluations/server';
import { execute } from '../jobs/execute';
import { fileName } from '../jobs/item';
import { sentence } from '../run/texts/rejection';
import { chosenModel } from '../run/server';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import { offerTrust } from '../server/trust';
import type { Range } from '../preview/protocol';
import { verdictOfCase, verdictOfItem, type CaseNews, type CasesFile, type Verdict } from './verdicts';

const FILES = '**/*.cases.yaml';
const IGNORED = '**/{node_modules,.git,.venv}/**';
/** Evaluations that are looked at for data sets. */
const MOST = 100;
/** Milliseconds after a change in which cases are not read again. */
const PAUSE = 400;

/** Cases and data sets in the Test Explorer. */
export function registerTesting(context: MerrowContext, evaluations: EvaluationServer): vscode.Disposable {
  return vscode.Disposable.from(new Tests(context, evaluations));
}

/** What an item of the explorer stands for. */
type Meant = { readonly kind: 'cases'; readonly uri: string } | { readonly kind: 'data'; readonly evaluation: Evaluation };

class Tests {
  private readonly controller = vscode.tests.createTestController('merrow.tests', 'Merrow');
  private readonly meant = new WeakMap<vscode.TestItem, Meant>();
  private readonly news = new vscode.EventEmitter<CaseNews>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly context: MerrowContext,
    private readonly evaluations: EvaluationServer,
  ) {
    const { controller } = this;
    controller.resolveHandler = (item) => (item === undefined ? this.discover() : this.resolve(item));
    controller.refreshHandler = () => this.discover();
    controller.createRunProfile('Run', vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token), true);
    const watcher = vscode.workspace.createFileSystemWatcher(FILES);
    const listen = (client = context.client()) => {
      client?.onNotification('merrow/testEvent', (event: CaseNews) => { this.news.fire(event); });
      if (client !== undefined) this.soon('', () => this.discover());
    };
    this.disposables = [
      controller,
      this.news,
      watcher,
      watcher.onDidCreate((uri) => this.file(uri)),
      watcher.onDidChange((uri) => { this.again(uri); }),
      watcher.onDidDelete((uri) => { controller.items.delete(idOf(uri)); }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.path.endsWith('.cases.yaml')) this.again(document.uri);
      }),
      context.onDidChangeClient(listen),
      evaluations.onDidChange(() => { this.soon('', () => this.discover()); }),
      intercept('merrow.test', (given) => this.fromLens(given)),
    ];
    listen();
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const part of this.disposables) part.dispose();
  }

  /** Find the files with cases, and the data sets that workflows were evaluated on. */
  private async discover(): Promise<void> {
    for (const uri of await vscode.workspace.findFiles(FILES, IGNORED)) this.file(uri);
    // Whoever has no workflow open does not start the server by looking at the explorer.
    if (this.context.client() === undefined) return;
    try {
      const known = new Set<string>();
      for (const evaluation of await this.evaluations.list(MOST)) {
        const id = this.data(evaluation, known);
        if (id !== undefined) known.add(id);
      }
      this.controller.items.forEach(({ id }) => {
        if (id.startsWith('data ') && !known.has(id)) this.controller.items.delete(id);
      });
    } catch (problem) {
      this.context.log.info(`Data sets are not listed: ${sentence(problem)}`);
    }
  }

  private file(uri: vscode.Uri): vscode.TestItem {
    const known = this.controller.items.get(idOf(uri));
    if (known !== undefined) return known;
    const item = this.controller.createTestItem(idOf(uri), fileName(uri.path), uri);
    item.description = vscode.workspace.asRelativePath(uri).split('/').slice(0, -1).join('/');
    item.canResolveChildren = true;
    this.meant.set(item, { kind: 'cases', uri: uri.toString() });
    this.controller.items.add(item);
    return item;
  }

  /** A data set of a workflow in the workspace, by its newest evaluation; its id. */
  private data(evaluation: Evaluation, known: ReadonlySet<string>): string | undefined {
    const { uri, diagram, dataset, part, metric } = evaluation;
    if (uri === null || vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri)) === undefined) return undefined;
    const id = `data ${uri}#${diagram} ${part} ${metric} ${dataset}`;
    if (known.has(id)) return id;
    let item = this.controller.items.get(id);
    if (item === undefined) {
      item = this.controller.createTestItem(id, `${fileName(evaluation.workflow)} on ${fileName(dataset)}`, vscode.Uri.parse(uri));
      item.description = `${part}, ${metric}`;
      item.canResolveChildren = true;
      this.controller.items.add(item);
    }
    this.meant.set(item, { kind: 'data', evaluation });
    return id;
  }

  /** Make the children of an item: the cases of a file, or the items of a data set. */
  private async resolve(item: vscode.TestItem): Promise<void> {
    const meant = this.meant.get(item);
    if (meant === undefined) return;
    try {
      item.error = undefined;
      if (meant.kind === 'cases') await this.resolveCases(item, meant.uri);
      else if (item.children.size === 0) this.addItems(item, (await this.evaluations.report(meant.evaluation.evaluation)).rows);
    } catch (problem) {
      item.error = sentence(problem);
    }
  }

  private async resolveCases(item: vscode.TestItem, uri: string): Promise<void> {
    const client = await this.context.readyClient();
    const found: CasesFile = await client.sendRequest('workspace/executeCommand', { command: 'merrow.cases', arguments: [{ uri }] });
    if (found.problems > 0) item.error = 'The file has errors, so nothing of it runs; see the problems.';
    item.children.replace(found.cases.map((one) => {
      const child = this.controller.createTestItem(one.id, one.id, item.uri);
      child.range = rangeOf(one.range);
      child.tags = one.tags.map((tag) => new vscode.TestTag(tag));
      return child;
    }));
  }

  private addItems(item: vscode.TestItem, rows: readonly Row[]): void {
    for (const { item: id, title } of rows) if (item.children.get(id) === undefined) item.children.add(this.controller.createTestItem(id, title));
  }

  private again(uri: vscode.Uri): void {
    const item = this.controller.items.get(idOf(uri));
    if (item !== undefined && item.children.size > 0) this.soon(item.id, () => this.resolve(item));
  }

  private soon(key: string, act: () => Promise<void>): void {
    clearTimeout(this.timers.get(key));
    this.timers.set(key, setTimeout(() => void act(), PAUSE));
  }

  /** The lens above a workflow runs all of its cases. */
  private async fromLens(given: unknown): Promise<void> {
    const uri = typeof given === 'object' && given !== null && 'uri' in given && typeof given.uri === 'string' ? vscode.Uri.parse(given.uri) : undefined;
    if (uri === undefined) return;
    const request = new vscode.TestRunRequest([this.file(uri)]);
    await this.run(request, new vscode.CancellationTokenSource().token);
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    if (!this.context.trusted()) {
      offerTrust();
      return;
    }
    const run = this.controller.createTestRun(request);
    const stopped = () => token.isCancellationRequested;
    try {
      for (const [parent, chosen] of this.chosen(request)) {
        if (stopped()) break;
        const meant = this.meant.get(parent);
        try {
          if (meant?.kind === 'cases') await this.runCases(run, parent, chosen, meant.uri, token);
          else if (meant?.kind === 'data') await this.runData(run, parent, chosen, meant.evaluation, token);
        } catch (problem) {
          if (!stopped()) this.refuse(run, parent, chosen, sentence(problem));
        }
      }
    } finally {
      run.end();
    }
  }

  /** What is to be run: for each file or data set all of it, or some children. All together are the cases: data sets may cost. */
  private chosen({ include, exclude = [] }: vscode.TestRunRequest): Map<vscode.TestItem, readonly vscode.TestItem[] | undefined> {
    const found = new Map<vscode.TestItem, readonly vscode.TestItem[] | undefined>();
    const without = new Set(exclude);
    const roots: vscode.TestItem[] = [];
    this.controller.items.forEach((item) => {
      if (this.meant.get(item)?.kind === 'cases') roots.push(item);
    });
    for (const item of include ?? roots) {
      if (without.has(item)) continue;
      if (item.parent === undefined) found.set(item, undefined);
      else if (!found.has(item.parent)) found.set(item.parent, [item]);
      else {
        const others = found.get(item.parent);
        if (others !== undefined) found.set(item.parent, [...others, item]);
      }
    }
    for (const [parent, children] of found) {
      if (children === undefined && exclude.some((item) => item.parent === parent)) {
        const rest: vscode.TestItem[] = [];
        parent.children.forEach((child) => {
          if (!without.has(child)) rest.push(child);
        });
        found.set(parent, rest);
      }
    }
    return found;
  }

  private async runCases(run: vscode.TestRun, parent: vscode.TestItem, chosen: readonly vscode.TestItem[] | undefined, uri: string, token: vscode.CancellationToken): Promise<void> {
    if (parent.children.size === 0) await this.resolve(parent);
    const items = chosen ?? childrenOf(parent);
    for (const item of items) run.enqueued(item);
    const ended = new Set<string>();
    const listening = this.news.event((event) => {
      const item = vscode.Uri.parse(event.uri).toString() === vscode.Uri.parse(uri).toString() ? parent.children.get(event.id) : undefined;
      if (item === undefined) return;
      if (event.result === null) run.started(item);
      else {
        ended.add(item.id);
        const place = parent.uri === undefined ? undefined : new vscode.Location(parent.uri, rangeOf(event.result.place));
        settle(run, item, verdictOfCase(event.result), place);
      }
    });
    try {
      const argument = { ...chosenModel(), uri, ...(chosen === undefined ? {} : { ids: chosen.map(({ id }) => id) }) };
      await execute(this.context, 'merrow.test', argument, { token });
      for (const item of items) if (!ended.has(item.id)) run.skipped(item);
    } finally {
      listening.dispose();
    }
  }

  /** Evaluate on a data set, or on some of its items: an evaluation with a child for each item. */
  private async runData(run: vscode.TestRun, parent: vscode.TestItem, chosen: readonly vscode.TestItem[] | undefined, evaluation: Evaluation, token: vscode.CancellationToken): Promise<void> {
    const { uri, diagram, asked } = evaluation;
    if (uri === null) return;
    await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
    const target = { uri: vscode.Uri.parse(uri).toString(), diagram };
    const question = chosen === undefined ? asked : { ...asked, items: chosen.map(({ id }) => id) };
    const forecast = await this.evaluations.forecast({ ...target, ...question });
    if (forecast.mayCost && (await say.info(`Evaluate ${parent.label}?`, { modal: true, detail: forecast.text }, 'Evaluate')) !== 'Evaluate') return;
    run.started(parent);
    const rows = new Map<string, Row[]>();
    const listening = this.evaluations.onDidTell((news) => {
      if (news.uri === null || vscode.Uri.parse(news.uri).toString() !== target.uri) return;
      this.addItems(parent, news.rows);
      for (const row of news.rows) {
        const item = parent.children.get(row.item);
        const own = [...(rows.get(row.item) ?? []), row];
        rows.set(row.item, own);
        if (item !== undefined) settle(run, item, verdictOfItem(own), parent.uri && new vscode.Location(parent.uri, new vscode.Position(0, 0)));
      }
    });
    try {
      const ended = await this.evaluations.begin({ ...target, ...question }, { token });
      run.appendOutput(`Evaluation ${ended.evaluation} of ${parent.label}: ${ended.score === null ? 'no score' : ended.score.toFixed(3)}\r\n`);
      if (ended.error !== null) run.errored(parent, new vscode.TestMessage(ended.error));
    } finally {
      listening.dispose();
    }
  }

  /** What could not be run at all. */
  private refuse(run: vscode.TestRun, parent: vscode.TestItem, chosen: readonly vscode.TestItem[] | undefined, reason: string): void {
    const message = new vscode.TestMessage(reason);
    const items = chosen ?? childrenOf(parent);
    for (const item of items.length > 0 ? items : [parent]) run.errored(item, message);
  }
}

function settle(run: vscode.TestRun, item: vscode.TestItem, { kind, message, expected, actual, milliseconds }: Verdict, place: vscode.Location | undefined): void {
  if (kind === 'passed') {
    if (message !== '') run.appendOutput(`${message.replaceAll(/\r?\n/g, '\r\n')}\r\n`, undefined, item);
    run.passed(item, milliseconds);
    return;
  }
  if (kind === 'skipped') {
    if (message !== '') run.appendOutput(`${item.label}: ${message.replaceAll(/\r?\n/g, '\r\n')}\r\n`, undefined, item);
    run.skipped(item);
    return;
  }
  const said = expected === undefined || actual === undefined ? new vscode.TestMessage(message) : vscode.TestMessage.diff(message, expected, actual);
  if (place !== undefined) said.location = place;
  if (kind === 'failed') run.failed(item, said, milliseconds);
  else run.errored(item, said, milliseconds);
}

function childrenOf(item: vscode.TestItem): vscode.TestItem[] {
  const found: vscode.TestItem[] = [];
  item.children.forEach((child) => found.push(child));
  return found;
}

function idOf(uri: vscode.Uri): string {
  return `cases ${uri.toString()}`;
}

function rangeOf({ start, end }: Range): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
