import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { previews } from '../preview';
import { intercept } from '../server/interceptors';
import { WhoAnswers } from '../answering';
import { registerJobs } from '../jobs/commands';
import { registerEvaluations } from '../evaluations';
import { registerBatches } from '../evaluations/batches';
import { BatchServer, EvaluationServer } from '../evaluations/server';
import { EvaluationStart } from '../evaluations/starting';
import { registerExtractions } from '../extractions';
import { registerPlans } from '../plans';
import { registerReproductions } from '../reproductions';
import { ResultPanels } from '../results/panels';
import { registerSearches } from '../searches';
import { SearchServer } from '../searches/server';
import { SetEditing } from '../inputs/editing';
import { registerFigures } from '../metrics';
import { runBoth, type Mutant } from './both';
import { registerRunCommands } from './commands';
import { RunDocuments } from './texts/documents';
import { LiveRuns } from './live';
import { NodeView } from './panel/nodeView';
import { RunOutput } from './output';
import { RunPictures } from './pictures';
import { Runner } from './runner';
import { RunServer } from './server';
import { RunStatusBar } from './views/statusBar';
import { RunTree } from './views/tree';
import { People } from '../people';
import { registerRevisions } from '../revisions';
import { registerTesting } from '../testing';

/** Set while something runs, and once a server has been there: for menus, and for the view of runs. */
const RUNNING = 'merrow.running';
const ACTIVE = 'merrow.active';

/** Running workflows: commands, the state of runs in the preview and the status bar, the journal as a tree. */
export function register(context: MerrowContext): vscode.Disposable {
  const server = new RunServer(context);
  const live = new LiveRuns(context);
  const documents = new RunDocuments(server);
  const pictures = new RunPictures(previews(context), live);
  const nodeView = new NodeView(context, server, live, documents, previews(context));
  const output = new RunOutput(live);
  const evaluations = new EvaluationServer(context);
  const results = new ResultPanels(context);
  const starting = new EvaluationStart(context, server, evaluations);
  const jobs = [
    registerEvaluations(context, starting, evaluations, results),
    registerBatches(context, starting, new BatchServer(context), results),
    registerSearches(context, starting, new SearchServer(context), results),
    registerExtractions(context),
    registerPlans(context),
    registerReproductions(context),
  ];
  const doors = jobs.map(({ door }) => door);
  const tree = new RunTree(server, doors, live, () => context.client() !== undefined);
  const runner = new Runner(context, server, live, nodeView);
  const became = (): void => {
    const there = context.client() !== undefined;
    if (there) void vscode.commands.executeCommand('setContext', ACTIVE, true);
    tree.soon();
  };
  became();
  return vscode.Disposable.from(
    live,
    documents,
    pictures,
    nodeView,
    output,
    tree,
    new RunStatusBar(context, live),
    new People(context, live),
    runner.sayEnds(),
    registerFigures(context, documents),
    ...jobs,
    results,
    registerJobs(doors),
    registerRevisions({ context, server, live, runner, documents, pictures, tree }),
    registerTesting(context, evaluations),
    new WhoAnswers(context, nodeView),
    new SetEditing(context, runner.starting.sets, server),
    registerRunCommands({ context, server, live, runner, documents, nodeView, output, pictures, tree }),
    // The server's own commands, as its lenses have them, begin what the extension's do.
    intercept('merrow.run', (given) => vscode.commands.executeCommand(Command.runWorkflow, given)),
    intercept('merrow.runBoth', (given) => runBoth(context, server, runner, documents, given as Mutant)),
    intercept('merrow.dryRun', (given) => vscode.commands.executeCommand(Command.dryRunWorkflow, given)),
    intercept('merrow.runFrom', (given) => vscode.commands.executeCommand(Command.runFromHere, given)),
    context.onDidChangeClient((client) => {
      became();
      client?.onRequest('merrow/input', async (asked: Question) => answerTo(asked, runner));
    }),
    live.onDidHappen(({ event }) => {
      if (event.node === null) void vscode.commands.executeCommand('setContext', RUNNING, live.running.length > 0);
    }),
    previews(context).onDidSelectNode(({ uri, node }) => {
      const run = pictures.of(uri.toString());
      if (run !== undefined) void nodeView.show(run, node, uri.toString());
    }),
  );
}

/** The server's request for the value of an input. */
interface Question {
  readonly uri: string;
  readonly diagram: number;
  readonly name: string;
  readonly title: string;
  readonly type: string;
  readonly last?: unknown;
}

async function answerTo({ uri, diagram, name, title, type, last }: Question, runner: Runner): Promise<{ readonly value: string } | null> {
  const target = { uri: vscode.Uri.parse(uri).toString(), diagram };
  const before = typeof last === 'string' ? { text: last } : undefined;
  const value = await runner.starting.value(target, { name, title, type, fallback: undefined }, before);
  return value === undefined ? null : { value };
}
