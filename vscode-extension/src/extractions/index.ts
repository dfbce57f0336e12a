import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { METRICS, byGold, fieldsOf } from '../evaluations/fields';
import { beginning, dataFile, describes, pick } from '../evaluations/starting';
import { agreed, confirms } from '../jobs/consent';
import { execute } from '../jobs/execute';
import { fileName } from '../jobs/item';
import type { JobStatus } from '../jobs/protocol';
import { attempt } from '../run/attempt';
import { chosenModel } from '../run/server';
import { say } from '../say';
import { intercept } from '../server/interceptors';

const COMMAND = 'merrow.extract';
/** The stages that can be left out, as the paper does to see what each is worth. */
const STAGES = [
  { label: 'Initial operators', description: 'the model sees each case', value: 'initial' },
  { label: 'Groups', description: 'steps with one signature share an operator', value: 'clustering' },
  { label: 'Deeper operators', description: 'paths to fewer and more general ones', value: 'deep' },
] as const;

/** What is asked of the server. */
interface ExtractionQuestion {
  readonly dataset: string;
  readonly gold?: string;
  readonly solution?: string;
  readonly mapping?: Readonly<Record<string, string>>;
  readonly metric?: string;
  readonly without?: readonly string[];
}

interface ExtractionForecast {
  readonly endpoint: string;
  readonly free: boolean;
  readonly text: string;
  readonly notes: readonly string[];
}

interface Extraction {
  readonly extraction: string;
  readonly status: JobStatus;
  readonly library: string;
  readonly page: string | null;
  readonly error: string | null;
  readonly report: { readonly operators: readonly { readonly name: string }[]; readonly why_nothing: string | null } | null;
}

/** Drawing operators from solved cases: the questions, what it may cost, progress, the library. */
export function registerExtractions(context: MerrowContext): vscode.Disposable {
  const extract = (given: unknown) => attempt(context, () => extracting(context, given));
  return vscode.Disposable.from(vscode.commands.registerCommand(Command.extractOperators, extract), intercept(COMMAND, extract));
}

async function extracting(context: MerrowContext, given: unknown): Promise<void> {
  const question = asked(given) ?? (await questionOf(given instanceof vscode.Uri ? given : undefined));
  if (question === undefined) return;
  const name = fileName(question.dataset);
  const forecast = await execute<ExtractionForecast>(context, COMMAND, { ...chosenModel(), ...question, dryRun: true });
  const details = [forecast.text, `The model is at ${forecast.endpoint}.`, ...forecast.notes];
  const cost = { endpoint: forecast.endpoint, asks: confirms() && !forecast.free, details };
  if (!(await agreed(context, cost, `Extract operators from ${name}?`, 'Extract'))) return;
  const options = { location: vscode.ProgressLocation.Notification, title: `Extracting operators from ${name}`, cancellable: true };
  const ended = await vscode.window.withProgress(options, (progress, token) =>
    execute<Extraction>(context, COMMAND, { ...chosenModel(), ...question, agreed: true }, { token, told: (message) => { progress.report({ message }); } }),
  );
  await show(ended);
}

/** Open the library, and offer its report. */
async function show({ report, status, library, page, error }: Extraction): Promise<void> {
  if (page === null) {
    void say.warning(report?.why_nothing ?? `The extraction was ${status === 'finished' ? 'finished without operators' : 'stopped'}; what is finished is kept. ${error ?? ''}`.trim());
    return;
  }
  await vscode.window.showTextDocument(vscode.Uri.file(library), { preview: false });
  const count = report?.operators.length ?? 0;
  const told = say.info(`${count} operator${count === 1 ? '' : 's'} in ${fileName(library)}. Search with them: merrow optimize --operators ${fileName(library)}`, 'Open Report');
  void told.then((chosen) => {
    if (chosen === 'Open Report') void vscode.env.openExternal(vscode.Uri.file(page));
  });
}

/** The file with the cases, its fields and the stages; undefined where the user leaves. */
async function questionOf(given: vscode.Uri | undefined): Promise<ExtractionQuestion | undefined> {
  const title = 'Extract Operators';
  const file = given ?? (await dataFile(title, 'The solved cases: problems with worked solutions', 'Extract from This File'));
  if (file === undefined) return undefined;
  const fields = (await describes(file)) ? [] : fieldsOf(fileName(file.path), await beginning(file));
  const named = fields.length === 0 ? {} : await namedFields(title, fields);
  if (named === undefined) return undefined;
  const kept = await vscode.window.showQuickPick(STAGES.map((stage) => ({ ...stage, picked: true })), { title, placeHolder: 'The stages: usually all', canPickMany: true, ignoreFocusOut: true });
  if (kept === undefined) return undefined;
  const without = STAGES.map(({ value }) => value).filter((stage) => !kept.some(({ value }) => value === stage));
  return { dataset: file.fsPath, ...named, ...(without.length === 0 ? {} : { without }) };
}

async function namedFields(title: string, fields: readonly string[]): Promise<Omit<ExtractionQuestion, 'dataset'> | undefined> {
  const choices = (names: readonly string[]) => names.map((field) => ({ label: field, value: field }));
  const problem = await pick(title, 'The field with the problem', choices(fields));
  if (problem === undefined) return undefined;
  const rest = fields.filter((field) => field !== problem);
  const solution = await pick(title, 'The field with the worked solution', choices(rest));
  if (solution === undefined) return undefined;
  const gold = await pick(title, 'The field with the right answer', choices(byGold(rest)));
  if (gold === undefined) return undefined;
  const metric = await pick(title, 'An answer is right when it …', METRICS.map(([name, says]) => ({ label: name, description: says, value: name })));
  return metric === undefined ? undefined : { mapping: { problem }, solution, gold, metric };
}

/** The question that somebody else asked already, such as a program. */
function asked(given: unknown): ExtractionQuestion | undefined {
  return typeof given === 'object' && given !== null && 'dataset' in given ? (given as ExtractionQuestion) : undefined;
}
