import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { METRICS, byGold, fieldsOf } from '../evaluations/fields';
import { pick } from '../evaluations/picking';
import { beginning, dataFile, describes } from '../evaluations/starting';
import { agreed, confirms } from '../jobs/consent';
import { jobDoor, jobParts, type JobParts } from '../jobs/door';
import type { Manner } from '../jobs/execute';
import { follow } from '../jobs/follow';
import { HtmlReports } from '../jobs/htmlReports';
import { fileName, statusText } from '../jobs/item';
import { attempt } from '../run/attempt';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import type { Extraction, ExtractionQuestion } from './protocol';
import { ExtractionServer } from './server';
import { extractionItem } from './words';

const COMMAND = 'merrow.extract';
/** The stages that can be left out, as the paper does to see what each is worth. */
const STAGES = [
  { label: 'Initial operators', description: 'the model sees each case', value: 'initial' },
  { label: 'Groups', description: 'steps with one signature share an operator', value: 'clustering' },
  { label: 'Deeper operators', description: 'paths to fewer and more general ones', value: 'deep' },
] as const;

/** Drawing operators from solved cases: the questions, what it may cost, progress, the library. */
export function registerExtractions(context: MerrowContext): JobParts {
  const server = new ExtractionServer(context);
  const reports = new HtmlReports('merrow.extraction', server, async (id) => {
    const { extraction, cases, html } = await server.report(id);
    return { id: extraction, title: `Operators from ${fileName(cases)}`, html: html ?? '' };
  });
  const extracting = new Extracting(context, server, reports);
  const extract = (given: unknown) => attempt(context, () => extracting.extract(given));
  const door = jobDoor(server, {
    label: 'Extractions',
    picture: 'symbol-class',
    goes: 'Steps, trials and the report go from the journal; the library and its files stay, and so does what models answered in the cache.',
    item: extractionItem,
    show: async (id) => {
      const { html, text } = await server.report(id);
      if (html === null) void say.info(text);
      else await reports.show(id);
    },
    goOn: (id) => attempt(context, () => extracting.resume(id)),
  });
  return jobParts(door, server, reports, vscode.commands.registerCommand(Command.extractOperators, extract), intercept(COMMAND, extract));
}

/** Begins extractions, shows how far they are, and what came of them. */
class Extracting {
  constructor(
    private readonly context: MerrowContext,
    private readonly server: ExtractionServer,
    private readonly reports: HtmlReports,
  ) {}

  async extract(given: unknown): Promise<void> {
    const question = asked(given) ?? (await questionOf(given instanceof vscode.Uri ? given : undefined));
    if (question === undefined) return;
    const name = fileName(question.dataset);
    const forecast = await this.server.forecast(question);
    const details = [forecast.text, `The model is at ${forecast.endpoint}.`, ...forecast.notes];
    const cost = { endpoint: forecast.endpoint, asks: confirms() && !forecast.free, details };
    if (await agreed(this.context, cost, `Extract operators from ${name}?`, 'Extract')) await this.follow(name, (manner) => this.server.begin(question, manner));
  }

  async resume(id: string): Promise<void> {
    const { cases, extraction } = await this.server.report(id);
    await this.follow(fileName(cases), (manner) => this.server.resume(extraction, manner));
  }

  /** Show how far one is until it ends; then open its library, and offer its report. */
  private async follow(name: string, begin: (manner: Manner) => Promise<Extraction>): Promise<void> {
    const { extraction, report, status, library, page, error } = await follow(`Extracting operators from ${name}`, begin, 'words');
    if (page === null) {
      const ended = status === 'finished' ? 'found no operators' : `was ${statusText(status)}`;
      const actions = status === 'finished' ? [] : ['Continue'];
      const told = say.warning(report?.why_nothing ?? `The extraction from ${name} ${ended}; finished work is kept. ${error ?? ''}`.trim(), ...actions);
      void told.then((chosen) => {
        if (chosen !== undefined) void attempt(this.context, () => this.resume(extraction));
      });
      return;
    }
    await vscode.window.showTextDocument(vscode.Uri.file(library), { preview: false });
    const count = report?.operators.length ?? 0;
    const told = say.info(`${count} operator${count === 1 ? '' : 's'} in ${fileName(library)}. Search with them: merrow optimize --operators ${fileName(library)}`, 'Show Report');
    void told.then((chosen) => {
      if (chosen !== undefined) void attempt(this.context, () => this.reports.show(extraction));
    });
  }
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
