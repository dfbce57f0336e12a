import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { pick, type Choice } from '../evaluations/picking';
import { agreed } from '../jobs/consent';
import { jobDoor, jobParts, type JobParts } from '../jobs/door';
import type { Manner } from '../jobs/execute';
import { follow } from '../jobs/follow';
import { HtmlReports } from '../jobs/htmlReports';
import { statusText } from '../jobs/item';
import { attempt } from '../run/attempt';
import { count } from '../run/texts/figures';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import type { Reproduction, ReproductionForecast, ReproductionQuestion } from './protocol';
import { ReproductionServer } from './server';
import { reproductionItem, rolesOf, rowText, withOtherData } from './words';

const COMMAND = 'merrow.reproduce';
const PAPERS = [
  { label: 'MermaidFlow', value: 'mermaidflow' },
  { label: 'Flow', value: 'flow' },
  { label: 'A2Flow', value: 'a2flow' },
];
/** The paper that plays TextCraft. */
const PLAYS = 'a2flow';
const LOOK = 3;
const SIZES: readonly Choice<Pick<ReproductionQuestion, 'items' | 'simulate'>>[] = [
  { label: 'A look', description: `${LOOK} items a row, without a verdict`, value: { items: LOOK } },
  { label: 'Everything', description: 'as in the paper', value: {} },
  { label: 'Simulated', description: `${LOOK} items a row, answered by the embedded offline model`, value: { items: LOOK, simulate: true } },
];

/** Reproducing the experiments of a paper: the questions, what each row may cost, progress, the table. */
export function registerReproductions(context: MerrowContext): JobParts {
  const server = new ReproductionServer(context);
  const reports = new HtmlReports('merrow.reproduction', server, async (id) => {
    const { reproduction, paper, html } = await server.report(id);
    return { id: reproduction, title: `Reproduction of ${paper}`, html };
  });
  const reproducing = new Reproducing(context, server, reports);
  const reproduce = (given: unknown) => attempt(context, () => reproducing.reproduce(given));
  const door = jobDoor(server, {
    label: 'Reproductions',
    picture: 'mortar-board',
    goes: 'The table goes from the journal; the evaluations, searches and plans of its rows stay.',
    item: reproductionItem,
    show: (id) => reports.show(id),
    goOn: (id) => attempt(context, () => reproducing.resume(id)),
  });
  return jobParts(door, server, reports, vscode.commands.registerCommand(Command.reproducePaper, reproduce), intercept(COMMAND, reproduce));
}

/** Begins reproductions, shows how far they are, and their tables. */
class Reproducing {
  constructor(
    private readonly context: MerrowContext,
    private readonly server: ReproductionServer,
    private readonly reports: HtmlReports,
  ) {}

  async reproduce(given: unknown): Promise<void> {
    const question = asked(given) ?? (await this.question());
    if (question === undefined) return;
    const { endpoint, free, text, notices, order } = await this.server.forecast(question);
    if (order.length === 0) {
      void say.warning(text);
      return;
    }
    // What may be this dear is always asked, whatever the settings say of runs.
    const cost = { endpoint, asks: !free, details: [text, ...notices] };
    if (await agreed(this.context, cost, `Reproduce ${question.paper}?`, 'Reproduce')) await this.follow(question.paper, (manner) => this.server.begin(question, manner));
  }

  async resume(id: string): Promise<void> {
    const { paper, reproduction } = await this.server.report(id);
    await this.follow(paper, (manner) => this.server.resume(reproduction, manner));
  }

  /** What is to be reproduced; undefined where the user leaves. */
  private async question(): Promise<ReproductionQuestion | undefined> {
    const title = 'Reproduce a Paper';
    const paper = await pick(title, 'The paper', PAPERS);
    const size = paper === undefined ? undefined : await pick(title, 'How much of it?', SIZES);
    const data = size === undefined ? undefined : await dataFolder(title);
    const recipes = paper === undefined || data === undefined ? undefined : await recipesOf(title, paper);
    if (paper === undefined || size === undefined || data === undefined || recipes === undefined) return undefined;
    const isSimulated = size.simulate === true;
    let whole: ReproductionQuestion = { paper, data, ...recipes, ...size };
    let forecast = await this.server.forecast(whole);
    const other = await otherDataOf(title, forecast);
    const models = other === undefined ? undefined : isSimulated ? {} : await modelsOf(title, forecast);
    if (other === undefined || models === undefined) return undefined;
    if (Object.keys({ ...other, ...models }).length > 0) {
      whole = { ...whole, ...other, ...models };
      forecast = await this.server.forecast(whole);
    }
    const rows = await rowsOf(title, forecast);
    const budget = rows === undefined ? undefined : isSimulated ? {} : await budgetOf(title);
    return rows === undefined || budget === undefined ? undefined : { ...whole, rows, ...budget };
  }

  /** Show how far one is until it ends; then its table. */
  private async follow(paper: string, begin: (manner: Manner) => Promise<Reproduction>): Promise<void> {
    const { reproduction, status, error } = await follow(`Reproducing ${paper}`, begin);
    await this.reports.show(reproduction);
    if (status === 'finished') return;
    const told = say.warning(`The reproduction of ${paper} was ${statusText(status)}; finished work is kept. ${error ?? ''}`.trim(), 'Continue');
    void told.then((chosen) => {
      if (chosen !== undefined) void attempt(this.context, () => this.resume(reproduction));
    });
  }
}

/** The folder with the data: one of the workspace, or another. */
async function dataFolder(title: string): Promise<string | undefined> {
  const own = (vscode.workspace.workspaceFolders ?? []).flatMap(({ name, uri }) => [
    { label: `${name}/data`, description: 'if it exists', value: vscode.Uri.joinPath(uri, 'data').fsPath },
    { label: name, value: uri.fsPath },
  ]);
  const chosen = await pick(title, 'The folder with the data; “merrow datasets” in a terminal lists the files', [...own, { label: '$(folder-opened) Another Folder...', value: '' }]);
  if (chosen !== '') return chosen;
  return folder(title);
}

/** The recipes of the game that a paper plays, where not Merrow's own; undefined where the user leaves. */
async function recipesOf(title: string, paper: string): Promise<Pick<ReproductionQuestion, 'recipes'> | undefined> {
  if (paper !== PLAYS) return {};
  const isOwn = await pick(title, 'The recipes of TextCraft', [
    { label: 'Merrow’s Own', description: 'so the paper’s figure is not beside ours', value: true },
    { label: '$(folder-opened) Those of a Folder...', description: 'Minecraft’s crafting recipes as JSON', value: false },
  ]);
  if (isOwn !== false) return isOwn === undefined ? undefined : {};
  const recipes = await folder(title);
  return recipes === undefined ? undefined : { recipes };
}

async function folder(title: string): Promise<string | undefined> {
  const folders = await vscode.window.showOpenDialog({ title, openLabel: 'Use This Folder', canSelectFolders: true, canSelectFiles: false });
  return folders?.[0]?.fsPath;
}

/** Whether files that are not the published ones are taken, asked where rows lack nothing else; undefined where the user leaves. */
async function otherDataOf(title: string, { rows }: ReproductionForecast): Promise<Pick<ReproductionQuestion, 'otherData'> | undefined> {
  const lacking = withOtherData(rows);
  if (lacking === 0) return {};
  const of = count(lacking, 'row');
  return pick<Pick<ReproductionQuestion, 'otherData'>>(title, 'Files in this folder are not the published ones', [
    { label: 'Use Them Anyway', description: `${of} without a verdict, since the paper’s figures are of other data`, value: { otherData: true } },
    { label: 'Leave Out Their Rows', description: `${of} not run`, value: {} },
  ]);
}

/** Which models are asked, where not the paper's; undefined where the user leaves. */
async function modelsOf(title: string, { rows }: ReproductionForecast): Promise<Pick<ReproductionQuestion, 'models'> | undefined> {
  const roles = rolesOf(rows);
  if (roles.length === 0) return {};
  const theirs = [...new Set(roles.flatMap(({ models }) => models))].join(', ');
  const isOwn = await pick(title, 'The models', [
    { label: 'The Paper’s', description: theirs, value: false },
    { label: 'Others...', description: 'where the paper’s are retired, or your endpoint has none of them; without a verdict', value: true },
  ]);
  if (isOwn !== true) return isOwn === undefined ? undefined : {};
  const models: Record<string, string> = {};
  for (const { role, does, models: named } of roles) {
    const prompt = `The model that ${does} (${role}); empty: the paper’s, ${named.join(', ')}`;
    const typed = await vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true });
    if (typed === undefined) return undefined;
    if (typed.trim() !== '') models[role] = typed.trim();
  }
  return Object.keys(models).length === 0 ? {} : { models };
}

/** The rows that are wanted of those that can be run; undefined where the user leaves. */
async function rowsOf(title: string, { rows, order, text }: ReproductionForecast): Promise<readonly string[] | undefined> {
  if (order.length === 0) {
    void say.warning(text);
    return undefined;
  }
  const byId = new Map(rows.map((row) => [row.row, row]));
  const items = order.flatMap((id) => {
    const row = byId.get(id);
    return row === undefined ? [] : [{ label: id, description: rowText(row), picked: true }];
  });
  const lacking = rows.filter(({ asks, estimate }) => !asks && estimate === null).length;
  const placeHolder = lacking === 0 ? 'The rows, cheapest first' : 'The rows that can be run, cheapest first';
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder, canPickMany: true, ignoreFocusOut: true, matchOnDescription: true });
  return chosen === undefined || chosen.length === 0 ? undefined : chosen.length === items.length ? [] : chosen.map(({ label }) => label);
}

/** What it may cost at most; undefined where the user leaves. */
async function budgetOf(title: string): Promise<Pick<ReproductionQuestion, 'budget'> | undefined> {
  const validateInput = (text: string) => (text.trim() === '' || (Number(text) > 0 && Number.isFinite(Number(text))) ? undefined : 'A number of US dollars above 0, or nothing.');
  const typed = await vscode.window.showInputBox({ title, prompt: 'Stop once this many US dollars are spent; empty: without a limit', validateInput, ignoreFocusOut: true });
  if (typed === undefined) return undefined;
  return typed.trim() === '' ? {} : { budget: { usd: Number(typed) } };
}

/** The question that somebody else asked already, such as a program. */
function asked(given: unknown): ReproductionQuestion | undefined {
  return typeof given === 'object' && given !== null && 'paper' in given ? (given as ReproductionQuestion) : undefined;
}
