import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import type { EvaluationStart } from '../evaluations/starting';
import { MOST, pick } from '../jobs/commands';
import { agreed, confirms } from '../jobs/consent';
import { jobDoor, jobParts, type JobParts } from '../jobs/door';
import type { Manner } from '../jobs/execute';
import { follow } from '../jobs/follow';
import { fileName, idsOf, statusText } from '../jobs/item';
import type { ResultPanels } from '../results/panels';
import { attempt, told } from '../run/attempt';
import type { Target } from '../run/protocol';
import { NO_WORKFLOW, nameOf, targetOf } from '../run/targets';
import { plain } from '../plain';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import { proposingOf, strategyOf } from './form';
import type { Search, SearchQuestion } from './protocol';
import type { SearchServer } from './server';
import { foundText, searchItem } from './words';

const NONE = 'There are no searches yet. Make one with “Merrow: Optimize This Workflow”.';

/** Milliseconds that the status bar says that a candidate was applied. */
const SHOWN = 6000;

/** Searching for better workflows: commands, progress, results. */
export function registerSearches(context: MerrowContext, start: EvaluationStart, server: SearchServer, results: ResultPanels): JobParts {
  const searching = new Searching(context, start, server, results);
  const door = jobDoor(server, {
    label: 'Searches',
    picture: 'rocket',
    goes: 'Candidates, scores and runs go from the journal; the files of candidates stay, and so does what models answered in the cache.',
    item: searchItem,
    show: (id) => results.show({ kind: 'search', id }),
    goOn: (id) => searching.resume(id),
  });
  return jobParts(
    door,
    server,
    server.onDidChange(() => { results.changed('search'); }),
    vscode.commands.registerCommand(Command.openBetterVersion, (given: unknown) => told(async () => {
      const id = idsOf('search', given)[0] ?? (await pick(door, 'Compare with the best of which search?', NONE));
      if (id !== undefined) await showBetter(server, id, candidateOf(given));
    })),
    vscode.commands.registerCommand(Command.useCandidate, (given: unknown) => told(async () => {
      const [id] = idsOf('search', given);
      const candidate = candidateOf(given);
      if (id !== undefined && candidate !== undefined) await apply(server, id, candidate);
    })),
    vscode.commands.registerCommand(Command.optimizeWorkflow, (given: unknown) => searching.optimize(given)),
    intercept('merrow.optimize', (given) => searching.optimize(given)),
    intercept('merrow.optimizationReport', (given) => vscode.commands.executeCommand(Command.openJob, { ...Object(given), kind: 'search' })),
    intercept('merrow.showBetter', (given) => vscode.commands.executeCommand(Command.openBetterVersion, given)),
  );
}

/** Begins searches, shows how far they are, and says how they ended. */
class Searching {
  constructor(
    private readonly context: MerrowContext,
    private readonly start: EvaluationStart,
    private readonly server: SearchServer,
    private readonly results: ResultPanels,
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
      await this.follow(nameOf(target), (manner) => this.server.begin({ ...target, ...question }, manner));
    });
  }

  async resume(id: string): Promise<void> {
    await attempt(this.context, async () => {
      const known = (await this.server.list(MOST)).find(({ search }) => search === id);
      await this.follow(known === undefined ? id : fileName(known.workflow), (manner) => this.server.resume(id, manner));
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
    const { endpoint, free, text, notes } = await this.server.forecast({ ...target, ...question });
    const details = [text, `The model is at ${endpoint}.`, ...notes];
    return agreed(this.context, { endpoint, asks: confirms() && !free, details }, `Search for a better ${nameOf(target)}?`, 'Search');
  }

  /** Show how far a search is, until it ends; then its candidates. */
  private async follow(name: string, begin: (manner: Manner) => Promise<Search>): Promise<void> {
    const ended = await follow(`Searching for a better ${name}`, begin);
    await this.results.show({ kind: 'search', id: ended.search });
    const actions = [...(ended.crown === 0 ? [] : ['Compare']), ...(ended.status === 'finished' ? [] : ['Continue'])];
    const reason = ended.error === null ? '' : ` ${ended.error}`;
    const message = ended.status === 'finished'
      ? say.info(`The search for a better ${name} has ended: ${foundText(ended)}.`, ...actions)
      : say.warning(`The search for a better ${name} was ${statusText(ended.status)}; finished work is kept.${reason}`, ...actions);
    // Whoever waits for the answer need not know of the message.
    void message.then((chosen) => {
      if (chosen === 'Compare') void vscode.commands.executeCommand(Command.openBetterVersion, { id: ended.search });
      if (chosen === 'Continue') void this.resume(ended.search);
    });
  }
}

/** The best workflow of a search, or another candidate, as a difference to the file as it is now. */
async function showBetter(server: SearchServer, id: string, candidate: number | undefined): Promise<void> {
  const { uri, file, workflow, search } = await server.better(id, candidate);
  const best = vscode.Uri.file(file);
  if (uri === null) await vscode.window.showTextDocument(best);
  else await vscode.commands.executeCommand('vscode.diff', vscode.Uri.parse(uri), best, `${fileName(workflow)} ↔ ${candidate === undefined ? 'best' : `round ${candidate}`} of search ${search}`);
}

/** Write a candidate into the file of its workflow, where the change is undone like any other. */
async function apply(server: SearchServer, id: string, candidate: number): Promise<void> {
  const { uri, workflow } = await server.better(id, candidate);
  if (uri === null) {
    void say.info('The workflow of this search is in no file.');
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  const { edits } = await server.apply(id, candidate);
  const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
  await vscode.window.showTextDocument(document, { viewColumn: editor?.viewColumn ?? vscode.ViewColumn.One, preview: false });
  vscode.window.setStatusBarMessage(edits === 0 ? `$(check) ${plain(fileName(workflow))} is like round ${candidate} already` : `$(check) Round ${candidate} is in the file; undo takes it out again`, SHOWN);
}

/** The number of a candidate that a command was given. */
function candidateOf(given: unknown): number | undefined {
  return typeof given === 'object' && given !== null && 'candidate' in given && typeof given.candidate === 'number' ? given.candidate : undefined;
}

/** The question that somebody else asked already, such as a program. */
function asked(given: unknown): SearchQuestion | undefined {
  return typeof given === 'object' && given !== null && 'dataset' in given && 'evaluations' in given ? (given as SearchQuestion & Target) : undefined;
}
