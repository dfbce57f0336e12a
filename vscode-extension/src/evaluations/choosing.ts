import * as vscode from 'vscode';
import { METRICS, OTHER_METRICS, byGold, optionValue } from './fields';
import type { AnswerFields, Metric, Question } from './protocol';
import { pick } from './picking';

type Scored = Pick<Question, 'gold' | 'golds' | 'metric' | 'metrics' | 'metricOptions'>;
type Options = Record<string, string | number>;

const ALL = [...METRICS, ...OTHER_METRICS];
const SAYS: ReadonlyMap<string, string> = new Map(ALL);
const BY_TYPE = '';

/** What is compared with which column, and how; undefined where the user leaves. */
export async function scoring(title: string, columns: readonly string[], { fields, metrics }: Pick<AnswerFields, 'fields' | 'metrics'>): Promise<Scored | undefined> {
  const isRecord = fields.length > 1 || fields.some(({ name }) => columns.includes(name));
  const whole = isRecord
    ? await pick(title, 'What is scored?', [
        { label: 'Fields of the Answer', description: fields.map(({ name }) => name).join(', '), value: false },
        { label: 'The Whole Answer', description: 'compared with one column', value: true },
      ])
    : true;
  if (whole === undefined) return undefined;
  return whole ? wholeAnswer(title, columns, metrics) : ofFields(title, columns, { fields, metrics });
}

async function wholeAnswer(title: string, columns: readonly string[], metrics: readonly Metric[]): Promise<Scored | undefined> {
  const gold = await pick(title, 'The field with the right answer', byGold(columns).map((field) => ({ label: field, value: field })));
  if (gold === undefined) return undefined;
  const metric = await pick(title, 'An answer is right when it …', sorted(metrics).map(({ name }) => ({ label: name, description: SAYS.get(name) ?? '', value: name })));
  if (metric === undefined) return undefined;
  const metricOptions = await options(title, metrics.find(({ name }) => name === metric), '');
  return metricOptions && { gold, metric, ...some({ metricOptions }) };
}

async function ofFields(title: string, columns: readonly string[], { fields, metrics }: Pick<AnswerFields, 'fields' | 'metrics'>): Promise<Scored | undefined> {
  const items = fields.map(({ name, type }) => ({ label: name, description: type, picked: column(name, columns) !== undefined }));
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: 'Which fields of the answer are scored?', canPickMany: true, ignoreFocusOut: true });
  if (chosen === undefined || chosen.length === 0) return undefined;
  const found = { golds: {} as Record<string, string>, metrics: {} as Record<string, string>, metricOptions: {} as Options };
  const own = metrics.filter(({ whole }) => !whole);
  for (const { label: name } of chosen) {
    const like = column(name, columns);
    const ordered = like === undefined ? columns : [like, ...columns.filter((one) => one !== like)];
    const none = { label: '$(dash) No Column', description: 'for a metric that needs none, such as a judge', value: '' };
    const gold = await pick(title, `The column with the right value of ${name}`, [...ordered.map((one) => ({ label: one, value: one })), none]);
    if (gold === undefined) return undefined;
    if (gold !== '') found.golds[name] = gold;
    const { type = 'its type', metric: usual = 'exact' } = fields.find((field) => field.name === name) ?? {};
    const first = gold === '' ? [] : [{ label: usual, description: `${SAYS.get(usual) ?? ''} (usual for ${type})`, value: BY_TYPE }];
    const metric = await pick(title, `${name} is right when it …`, [...first, ...sorted(own).filter((one) => gold === '' || one.name !== usual).map((one) => ({ label: one.name, description: SAYS.get(one.name) ?? '', value: one.name }))]);
    if (metric === undefined) return undefined;
    if (metric !== BY_TYPE) found.metrics[name] = metric;
    const given = await options(title, own.find((one) => one.name === (metric || usual)), `${name}.`);
    if (given === undefined) return undefined;
    Object.assign(found.metricOptions, given);
  }
  return some(found);
}

/** What a metric is made with: what it needs, and what else it takes where the user says so. */
async function options(title: string, metric: Metric | undefined, before: string): Promise<Options | undefined> {
  const given: Options = {};
  const known = metric?.options ?? [];
  let asked = known.filter(({ needed }) => needed);
  if (asked.length < known.length) {
    const names = known.filter(({ needed }) => !needed).map(({ name }) => name).join(', ');
    const all = await pick(title, `Options of ${metric?.name ?? ''}`, [
      { label: 'As Usual', description: `without ${names}`, value: false },
      { label: 'Choose Options...', description: names, value: true },
    ]);
    if (all === undefined) return undefined;
    if (all) asked = [...known];
  }
  for (const { name, needed, file } of asked) {
    const about = `${metric?.name ?? ''}: ${name}`;
    if (file && needed) {
      const chosen = (await vscode.window.showOpenDialog({ title: `${title}: ${about}`, openLabel: 'Use This File' }))?.[0];
      if (chosen === undefined) return undefined;
      given[`${before}${name}`] = chosen.fsPath;
      continue;
    }
    const prompt = needed ? about : `${about} (leave it empty for the usual one)`;
    const validateInput = (text: string) => (needed && text.trim() === '' ? 'It is needed.' : undefined);
    const typed = await vscode.window.showInputBox({ title, prompt, validateInput, ignoreFocusOut: true });
    if (typed === undefined) return undefined;
    const text = typed.trim();
    if (text !== '') given[`${before}${name}`] = optionValue(name, text);
  }
  return given;
}

/** Those that are known best first. */
function sorted(metrics: readonly Metric[]): Metric[] {
  const rank = ({ name }: Metric) => {
    const found = ALL.findIndex(([known]) => known === name);
    return found < 0 ? ALL.length : found;
  };
  return [...metrics].sort((one, other) => rank(one) - rank(other));
}

/** The column of a name, in any case of letters. */
function column(name: string, columns: readonly string[]): string | undefined {
  return columns.find((one) => one.toLowerCase() === name.toLowerCase());
}

/** Without what is empty. */
function some(found: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Scored {
  return Object.fromEntries(Object.entries(found).filter(([, values]) => Object.keys(values).length > 0));
}
