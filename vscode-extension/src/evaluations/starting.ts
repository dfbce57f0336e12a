import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { agreed, confirms } from '../jobs/consent';
import { fileName } from '../jobs/item';
import type { Target } from '../run/protocol';
import type { RunServer } from '../run/server';
import { nameOf } from '../run/targets';
import { sentence } from '../run/texts/rejection';
import { say } from '../say';
import { scoring } from './choosing';
import { pick, type Choice } from './picking';
import { actsSomewhere, asksPeople, byPlace, callsTools, fieldsOf, hasReader, unfed } from './fields';
import { offered, optionProblem, withOption, type MoreOption } from './options';
import type { Question, Rows } from './protocol';
import type { BatchServer, EvaluationServer } from './server';

const LAST = 'merrow.lastEvaluations';
const DATA = '**/*.{jsonl,ndjson,json,csv}';
const IGNORED = '**/{node_modules,.git,.venv,.vscode,dist}/**';
const DATA_ASKED = 'The data: JSON Lines, a JSON array or CSV';
const MOST_FILES = 200;
const WITHOUT = 'Go On Without This Budget';
/** Characters of a data file that are read for its fields. */
const BEGINNING = 200_000;
const CONFIGURATION = /(?:^|\/)(?:package(?:-lock)?|tsconfig|merrow)\.json$|\.replay\.jsonl$/;

type StandIns = Pick<Question, 'answers' | 'person' | 'tools' | 'fakeTools'>;

/** Asks what an evaluation is to be of, and whether it may cost what it may. */
export class EvaluationStart {
  constructor(
    private readonly context: MerrowContext,
    private readonly runs: RunServer,
    private readonly server: EvaluationServer,
  ) {}

  /** What to ask of a workflow; undefined where the user leaves. */
  async question(target: Target): Promise<Question | undefined> {
    const title = `Evaluate ${nameOf(target)}`;
    const found = await this.fields(target, title);
    if (found === undefined || found.isWhole) return found?.question;
    const limited = await this.limited(title, found.question);
    return limited && this.more(target, title, limited, { isScored: true, forecast: (asked) => this.server.forecast({ ...target, ...asked }) });
  }

  /** How many of the items at most; undefined where the user leaves. */
  private async limited<Asked extends Partial<Question>>(title: string, asked: Asked): Promise<Asked | undefined> {
    const sizes = [10, 50, 200].map((size) => ({ label: `${size} items`, value: size }));
    const limit = await this.count(title, 'At most how many items?', [{ label: 'All items', value: 0 }, ...sizes]);
    if (limit === undefined) return undefined;
    return limit > 0 ? { ...asked, limit } : asked;
  }

  /** What else the user wants to say, which most want nothing of; undefined where they leave. */
  private async more<Asked extends Partial<Question>>(target: Target, title: string, asked: Asked, { isScored, forecast }: { readonly isScored: boolean; readonly forecast: (asked: Asked) => Promise<unknown> }): Promise<Asked | undefined> {
    const { nodes } = await this.runs.graph(target);
    const options = offered({ isScored, hasEnvironment: actsSomewhere(nodes) });
    const gates = { label: 'Scores that must be reached', description: 'of the whole, or of fields' };
    const items: (vscode.QuickPickItem & { readonly option?: MoreOption })[] = [...(isScored ? [gates] : []), ...options.map((option) => ({ label: option.label, description: option.about, option }))];
    const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: 'Anything else? Nothing: press Enter', canPickMany: true, ignoreFocusOut: true, matchOnDescription: true });
    if (chosen === undefined) return undefined;
    let whole = asked;
    for (const item of chosen) {
      if (item.option === undefined) {
        const least = await this.gates(title, asked);
        if (least === undefined) return undefined;
        whole = { ...whole, gates: least };
        continue;
      }
      const value = await valueOf(title, item.option);
      if (value === undefined) return undefined;
      const wanted = withOption(whole, item.option, value);
      // Where a price is not known, that is said before more is asked; what else is wrong is said at the end.
      const refusal = item.option.key === 'usd' ? await forecast(wanted).then(() => undefined, sentence) : undefined;
      if (refusal === undefined || !(await forecast(whole).then(() => true, () => false))) whole = wanted;
      else if ((await say.warning(refusal, { modal: true }, WITHOUT)) !== WITHOUT) return undefined;
    }
    return whole;
  }

  /** The least scores that pass, of the whole and of fields; undefined where the user leaves. */
  private async gates(title: string, { golds = {}, metrics = {} }: Partial<Question>): Promise<Record<string, number> | undefined> {
    const fields = scoredFields(golds, metrics);
    const items = [{ label: 'The Whole', field: '', picked: fields.length === 0 }, ...fields.map((field) => ({ label: field, field }))];
    const chosen = fields.length === 0 ? items : await vscode.window.showQuickPick(items, { title, placeHolder: 'Which scores must be reached?', canPickMany: true, ignoreFocusOut: true });
    if (chosen === undefined) return undefined;
    const gates: Record<string, number> = {};
    for (const { label, field } of chosen) {
      const prompt = `The least score that passes: ${label}, from 0 to 1`;
      const typed = await vscode.window.showInputBox({ title, prompt, value: '0.9', validateInput: gateProblem, ignoreFocusOut: true });
      if (typed === undefined) return undefined;
      gates[field] = Number(typed);
    }
    return gates;
  }

  /** What to ask of a workflow, but for which of the items; undefined where the user leaves. */
  async data(target: Target, title: string): Promise<Question | undefined> {
    const found = await this.fields(target, title);
    if (found === undefined) return undefined;
    const { dataset, reader, mapping, gold, golds, metric, metrics, metricOptions, answers, person, tools, fakeTools } = found.question;
    return Object.fromEntries(Object.entries({ dataset, reader, mapping, gold, golds, metric, metrics, metricOptions, answers, person, tools, fakeTools }).filter(([, value]) => value !== undefined)) as unknown as Question;
  }

  /** The data with the fields and the metric; `isWhole` where all is as last time. */
  private async fields(target: Target, title: string): Promise<{ readonly question: Question; readonly isWhole: boolean } | undefined> {
    const known = await this.server.answerFields(target);
    const file = await this.dataset(target, title, known.datasets);
    if (file === undefined) return undefined;
    if (typeof file !== 'string' && 'dataset' in file) return { question: file, isWhole: true };
    const { dataset, fields } = await dataOf(file);
    const question: { -readonly [Key in keyof Question]: Question[Key] } = { dataset };
    if (fields.length > 0) {
      const scored = await scoring(title, fields, known);
      if (scored === undefined) return undefined;
      Object.assign(question, scored);
      const mapping = await this.mapping(target, title, fields.filter((field) => !isGold(question, field)));
      if (mapping === undefined) return undefined;
      if (Object.keys(mapping).length > 0) question.mapping = mapping;
    }
    const standIns = await this.standIns(target, title, fields.filter((field) => !isGold(question, field)));
    return standIns === undefined ? undefined : { question: { ...question, ...standIns }, isWhole: false };
  }

  /** The fields that inputs get which none feeds by its name; undefined where the user leaves. */
  private async mapping(target: Target, title: string, fields: readonly string[]): Promise<Record<string, string> | undefined> {
    const { inputs } = await this.runs.graph(target);
    const mapping: Record<string, string> = {};
    for (const input of unfed(inputs, fields)) {
      const none = { label: '$(dash) No field', description: 'its default, where it has one', value: '' };
      const field = await pick(title, `The field that ${input} gets`, [...fields.map((one) => ({ label: one, value: one })), none]);
      if (field === undefined) return undefined;
      if (field !== '') mapping[input] = field;
    }
    return mapping;
  }

  /** What a batch is of, and the file that it writes, once the user agreed to what it may cost; undefined where they leave. */
  async rows(target: Target, server: BatchServer): Promise<Rows | undefined> {
    const title = `Run ${nameOf(target)} on Every Row`;
    const { datasets } = await this.server.answerFields(target);
    const file = await dataFile(title, DATA_ASKED, 'Run on This File', [], shipped(datasets));
    if (file === undefined) return undefined;
    const { dataset, fields } = await dataOf(file);
    const mapping = fields.length === 0 ? {} : await this.mapping(target, title, fields);
    if (mapping === undefined) return undefined;
    const standIns = await this.standIns(target, title, fields);
    if (standIns === undefined) return undefined;
    const beside = typeof file === 'string' ? vscode.Uri.joinPath(vscode.Uri.parse(target.uri), '..', file) : file;
    const defaultUri = beside.with({ path: beside.path.replace(/(?:\.[^./]*)?$/, '.answers.csv') });
    const limited = await this.limited(title, { dataset, ...(Object.keys(mapping).length > 0 ? { mapping } : {}), ...standIns });
    const whole = limited && (await this.more(target, title, limited, { isScored: false, forecast: (asked) => server.forecast({ ...target, ...asked, output: defaultUri.fsPath }) }));
    if (whole === undefined) return undefined;
    const output = await vscode.window.showSaveDialog({ title, defaultUri, saveLabel: 'Write Answers Here', filters: { CSV: ['csv'], 'JSON Lines': ['jsonl'] } });
    if (output === undefined) return undefined;
    const rows: Rows = { ...whole, output: output.fsPath };
    const forecast = await server.forecast({ ...target, ...rows });
    const cost = { endpoint: forecast.endpoint, asks: confirms() && forecast.mayCost, details: [forecast.text, ...forecast.notices] };
    return (await agreed(this.context, cost, `${title}?`, 'Run')) ? rows : undefined;
  }

  /** Who answers in the place of people, and what is called in the place of tools; undefined where the user leaves. */
  private async standIns(target: Target, title: string, fields: readonly string[]): Promise<StandIns | undefined> {
    const { nodes } = await this.runs.graph(target);
    const found: { -readonly [Key in keyof StandIns]: StandIns[Key] } = {};
    const answers: Record<string, string> = {};
    for (const { id } of asksPeople(nodes)) {
      if (found.person !== undefined) break;
      const chosen = await pick<{ readonly field: string } | 'model' | 'default'>(title, `Who answers ${id}?`, [
        ...fields.map((field) => ({ label: field, description: 'the answer is in this field', value: { field } })),
        { label: '$(hubot) A Model...', description: 'plays the person, at all nodes that are left', value: 'model' as const },
        { label: '$(dash) Nobody', description: 'its default is used, where it has one', value: 'default' as const },
      ]);
      if (chosen === undefined) return undefined;
      if (chosen === 'model') {
        const person = await vscode.window.showInputBox({ title, prompt: 'The model that answers in the place of people', ignoreFocusOut: true });
        if (person === undefined || person.trim() === '') return undefined;
        found.person = person.trim();
      } else if (chosen !== 'default') answers[id] = chosen.field;
    }
    if (Object.keys(answers).length > 0) found.answers = answers;
    if (!callsTools(nodes)) return found;
    const source = await pick(title, 'What do its tools do?', [
      { label: 'Call Them', description: 'those that your settings allow and call repeatable', value: 'live' as const },
      { label: 'Use Known Results', description: 'of earlier runs; nothing is called', value: 'replay' as const },
      { label: '$(file-code) Functions of a File...', description: 'are called in their place, in the sandbox', value: 'fake' as const },
    ]);
    if (source === undefined) return undefined;
    if (source !== 'fake') return { ...found, tools: source };
    const file = (await vscode.window.showOpenDialog({ title, openLabel: 'Use These Functions', filters: { Python: ['py'] } }))?.[0];
    return file === undefined ? undefined : { ...found, fakeTools: file.fsPath };
  }

  /** Whether an evaluation may go on: what reaches its endpoint is there, and the user agreed to what it may cost. */
  async agreed(target: Target, question: Question): Promise<boolean> {
    const forecast = await this.server.forecast({ ...target, ...question });
    const cost = { endpoint: forecast.endpoint, asks: confirms() && forecast.mayCost, details: [forecast.text, ...forecast.notices] };
    if (!(await agreed(this.context, cost, `Evaluate ${nameOf(target)}?`, 'Evaluate'))) return false;
    await this.context.extension.workspaceState.update(LAST, { ...this.lasts, [keyOf(target)]: question });
    return true;
  }

  private get lasts(): Readonly<Record<string, Question>> {
    return this.context.extension.workspaceState.get(LAST, {});
  }

  /** The data file, or all that was asked last time. */
  private async dataset(target: Target, title: string, datasets: readonly string[]): Promise<vscode.Uri | Question | string | undefined> {
    const last = this.lasts[keyOf(target)];
    const before = last === undefined ? [] : [{ label: '$(history) As Last Time', description: describe(last), value: last }];
    return dataFile<Question | string>(title, DATA_ASKED, 'Evaluate on This File', before, shipped(datasets));
  }

  /** A number, of those that are offered or another one; undefined where the user leaves. */
  async count(title: string, prompt: string, offered: readonly { readonly label: string; readonly value: number }[]): Promise<number | undefined> {
    const chosen = await pick(title, prompt, [...offered, { label: 'Another number...', value: -1 }]);
    if (chosen !== -1) return chosen;
    const validateInput = (text: string) => (/^[1-9]\d{0,8}$/.test(text.trim()) ? undefined : 'A whole number from 1.');
    const typed = await vscode.window.showInputBox({ title, prompt, validateInput, ignoreFocusOut: true });
    return typed === undefined ? undefined : Number(typed);
  }
}

/** Data sets that come with Merrow, to choose from. */
function shipped(names: readonly string[]): Choice<string>[] {
  return names.map((name) => ({ label: name, description: 'comes with Merrow', value: name }));
}

/** The data in a file, or of a name: how they are asked for, and the fields that are not known otherwise. */
async function dataOf(data: vscode.Uri | string): Promise<{ readonly dataset: string; readonly fields: readonly string[] }> {
  if (typeof data === 'string') return { dataset: data, fields: [] };
  return { dataset: data.fsPath, fields: (await describes(data)) ? [] : fieldsOf(fileName(data.path), await beginning(data)) };
}

/** A data file of the workspace or another one, or what is offered `before` or `after` them; undefined where the user leaves. */
export async function dataFile<Value = never>(title: string, placeHolder: string, openLabel: string, before: readonly Choice<Value>[] = [], after: readonly Choice<Value>[] = []): Promise<vscode.Uri | Value | undefined> {
  const files = (await vscode.workspace.findFiles(DATA, IGNORED, MOST_FILES)).filter(({ path }) => !CONFIGURATION.test(path));
  const found = byPlace(files.map((uri) => ({ place: vscode.workspace.asRelativePath(uri), uri }))).map(({ place, uri }) => {
    const label = fileName(uri.path);
    return { label, description: place.slice(0, -label.length - 1), value: uri };
  });
  const other = { label: '$(folder-opened) Another File...', value: 'browse' as const };
  const chosen = await pick<vscode.Uri | Value | 'browse'>(title, placeHolder, [...before, ...found, ...after, other]);
  if (chosen !== 'browse') return chosen;
  const filters = { 'Data sets': ['jsonl', 'ndjson', 'json', 'csv'] };
  return (await vscode.window.showOpenDialog({ title, openLabel, filters }))?.[0];
}

/** The value of an option, as text; undefined where the user leaves. */
async function valueOf(title: string, option: MoreOption): Promise<string | undefined> {
  const { form, label, about } = option;
  if (form === 'yes') return '';
  if (form === 'part') {
    return pick(title, 'Which part of the data?', [
      { label: 'validate', description: 'a fifth, for trying things out', value: 'validate' },
      { label: 'test', description: 'held out: for final figures', value: 'test' },
      { label: 'all', description: 'as usual for your own data', value: 'all' },
    ]);
  }
  if (form === 'folder') {
    const folders = await vscode.window.showOpenDialog({ title: `${title}: ${label}`, openLabel: 'Use This Folder', canSelectFolders: true, canSelectFiles: false });
    return folders?.[0]?.fsPath;
  }
  return vscode.window.showInputBox({ title, prompt: `${label}: ${about}`, validateInput: (text) => optionProblem(option, text), ignoreFocusOut: true });
}

function keyOf({ uri, diagram }: Target): string {
  return `${uri}#${diagram}`;
}

/** Whether a column has right answers. */
function isGold({ gold, golds = {} }: Question, field: string): boolean {
  return field === gold || Object.values(golds).includes(field);
}

/** Why a text is not the least score that passes. */
function gateProblem(text: string): string | undefined {
  const least = text.trim() === '' ? Number.NaN : Number(text);
  return least >= 0 && least <= 1 ? undefined : 'A number from 0 to 1.';
}

function scoredFields(golds: Readonly<Record<string, string>>, metrics: Readonly<Record<string, string>>): string[] {
  return [...new Set([...Object.keys(golds), ...Object.keys(metrics)])];
}

function describe({ dataset, part, limit, metric, golds = {}, metrics = {} }: Question): string {
  const fields = scoredFields(golds, metrics).join(', ');
  return [fileName(dataset), metric, fields === '' ? undefined : fields, part, limit === undefined ? undefined : `${limit} items`].filter((one) => one !== undefined).join(' · ');
}

/** Whether the fields of a data file are known: by its name, or by a TOML file beside it. */
export async function describes(file: vscode.Uri): Promise<boolean> {
  if (hasReader(fileName(file.path))) return true;
  const settings = file.with({ path: file.path.replace(/\.[^./]+$/, '.toml') });
  return vscode.workspace.fs.stat(settings).then(() => true, () => false);
}

/** The first characters of a data file. */
export async function beginning(file: vscode.Uri): Promise<string> {
  const bytes = await vscode.workspace.fs.readFile(file);
  return new TextDecoder().decode(bytes.subarray(0, BEGINNING));
}
