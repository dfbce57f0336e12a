import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { previews } from '../preview';
import { drawingsOf } from '../revisions/following';
import { ageText, costText, secondsText } from './texts/figures';
import type { RunDocuments } from './texts/documents';
import type { LiveRuns } from './live';
import type { NodeView } from './panel/nodeView';
import type { RunOutput } from './output';
import { shortName } from './texts/pages';
import type { RunPictures } from './pictures';
import type { RunSummary, Target } from './protocol';
import type { Runner } from './runner';
import { sentence } from './texts/rejection';
import type { RunServer } from './server';
import type { RunTree } from './views/tree';
import type { Item } from './views/treeModel';
import { nameOf, targetOf } from './targets';
import { say } from '../say';

export interface Parts {
  readonly context: MerrowContext;
  readonly server: RunServer;
  readonly live: LiveRuns;
  readonly runner: Runner;
  readonly documents: RunDocuments;
  readonly nodeView: NodeView;
  readonly output: RunOutput;
  readonly pictures: RunPictures;
  readonly tree: RunTree;
}

/** The commands about runs. */
export function registerRunCommands(parts: Parts): vscode.Disposable {
  const { context, runner, documents, nodeView, output, pictures, tree } = parts;
  const command = (id: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(id, act);
  return vscode.Disposable.from(
    command(Command.runWorkflow, (given) => runner.run(given)),
    command(Command.runWithOtherInputs, (given) => runner.run(given, true)),
    command(Command.dryRunWorkflow, (given) => runner.dryRun(given)),
    command(Command.runFromHere, async (given) => {
      const target = await targetOf(context, given);
      await runner.runFrom(given, target === undefined ? undefined : finishedRun(parts, target));
    }),
    command(Command.setNodeOutput, (given) => setOutput(parts, given)),
    command(Command.stopRun, (given) => stop(parts, given)),
    command(Command.resumeRun, (given) => resume(parts, given)),
    command(Command.runMenu, () => menu(parts)),
    command(Command.showRunOutput, () => {
      output.show();
    }),
    command(Command.clearRun, async (given) => {
      const target = await targetOf(context, given);
      if (target !== undefined) pictures.clear(vscode.Uri.parse(target.uri));
    }),
    command(Command.showNode, (given) => showNode(parts, given)),
    command(Command.openAsDocument, async (given) => {
      const item = given as Item | undefined;
      if (item?.kind === 'node') await documents.showNode(item.run, item.node);
      else if (item?.kind === 'run') await documents.showResult(item.summary.run, item.summary.workflow);
      else await nodeView.openAsDocument();
    }),
    command(Command.runWithSet, (given) => runner.runWithSet(given)),
    command(Command.editInputs, (given) => runner.editInputs(given)),
    command(Command.refreshRuns, () => {
      tree.refresh();
    }),
    command(Command.openRun, (given) => openRun(parts, given)),
    command(Command.compareRuns, (given, all) => compareRuns(parts, given, all)),
    command(Command.deleteRun, (given, all) => deleteRuns(parts, given, all)),
    command(Command.saveRunAsCase, (given) => saveAsCase(parts, given)),
  );
}

/** The run that the preview of a document shows, where another one can take results over from it. */
function finishedRun({ live, pictures }: Parts, { uri }: Target): string | undefined {
  const run = pictures.of(uri);
  const progress = run === undefined ? undefined : live.byId(run)?.progress;
  return progress?.isOver === false ? undefined : run;
}

/** Set an output of a node: of the run that is named, else of the one that the preview shows, else of the newest one. */
async function setOutput(parts: Parts, given: unknown): Promise<void> {
  const named = given as { readonly kind?: unknown; readonly run?: unknown; readonly node?: unknown; readonly uri?: unknown } | undefined;
  let meant = given;
  let run = typeof named?.run === 'string' ? named.run : undefined;
  try {
    const runs = await parts.tree.list();
    if (run !== undefined) {
      const summary = runs.find((one) => one.run === run);
      const target = parts.live.byId(run)?.target;
      const uri = summary?.uri ?? target?.uri;
      if (uri) meant = { uri, diagram: summary?.diagram ?? target?.diagram, node: named?.node };
    } else {
      const target = await targetOf(parts.context, given);
      const own = runs.filter(({ uri, diagram, here, status }) => uri !== null && vscode.Uri.parse(uri).toString() === target?.uri && diagram === target.diagram && !(here && status === 'running'));
      run = (target && finishedRun(parts, target)) ?? own[0]?.run;
    }
  } catch (problem) {
    void say.error(sentence(problem));
    return;
  }
  await parts.runner.setOutput(meant, run);
}

async function stop({ live, runner, context }: Parts, given: unknown): Promise<void> {
  const named = runOf(given);
  if (named !== undefined) {
    await runner.stop(named.run);
    return;
  }
  const target = await targetOf(context, given);
  const running = live.running;
  const here = running.filter((run) => run.target.uri === target?.uri);
  const meant = here.length > 0 ? here : running;
  if (meant.length === 0) void say.info('No workflow is running.');
  for (const { progress } of meant) await runner.stop(progress.run);
}

async function resume(parts: Parts, given: unknown): Promise<void> {
  const named = runOf(given) ?? (await lastStopped(parts, given));
  if (named === undefined) {
    void say.info('No run of this workflow ended early, so there is nothing to resume.');
    return;
  }
  const target = named.uri === null ? undefined : { uri: vscode.Uri.parse(named.uri).toString(), diagram: named.diagram };
  await parts.runner.resume(named.run, target);
}

/** The newest run of the workflow that is meant, where it ended early; of all workflows where none is meant. */
async function lastStopped(parts: Parts, given: unknown): Promise<RunSummary | undefined> {
  try {
    const target = await targetOf(parts.context, given);
    const runs = await parts.tree.list();
    const own = target === undefined ? runs : runs.filter(({ uri, diagram }) => uri !== null && vscode.Uri.parse(uri).toString() === target.uri && diagram === target.diagram);
    const newest = own.find(({ here, status }) => !(here && status === 'running'));
    return newest !== undefined && newest.status !== 'finished' ? newest : undefined;
  } catch (problem) {
    void say.error(sentence(problem));
    return undefined;
  }
}

interface Choice extends vscode.QuickPickItem {
  readonly act: () => unknown;
}

/** What can be done with the run in the status bar. */
async function menu(parts: Parts): Promise<void> {
  const { live, runner, nodeView, output, context } = parts;
  const choices: Choice[] = live.running.map(({ progress, target }) => ({
    label: '$(debug-stop) Stop',
    description: nameOf(target),
    act: () => runner.stop(progress.run),
  }));
  const { last } = live;
  if (last?.progress.isOver === true) {
    const { progress, target } = last;
    const { run } = progress;
    if (progress.status !== 'finished') choices.push({ label: '$(debug-continue) Resume', description: nameOf(target), act: () => runner.resume(run, target) });
    choices.push({ label: '$(go-to-file) Show Result', description: nameOf(target), act: () => nodeView.show(run, undefined, target.uri) });
  }
  if (last !== undefined && last.target.uri !== '') {
    choices.push({ label: '$(open-preview) Show Preview', description: nameOf(last.target), act: () => previews(context).show(vscode.Uri.parse(last.target.uri)) });
  }
  choices.push({ label: '$(output) Show Output', act: () => { output.show(); } });
  const chosen = await vscode.window.showQuickPick(choices, { title: 'Merrow Run' });
  await chosen?.act();
}

/** Show what a node did: of the run that is named, else of the one that the preview shows. */
async function showNode({ context, nodeView, pictures }: Parts, given: unknown): Promise<void> {
  if (typeof given !== 'object' || given === null) return;
  const { uri, run, node } = given as { uri?: unknown; run?: unknown; node?: unknown };
  if (typeof node !== 'string') return;
  const document = typeof uri === 'string' ? vscode.Uri.parse(uri) : previews(context).shown()?.uri;
  const meant = typeof run === 'string' ? run : document && pictures.of(document.toString());
  if (meant !== undefined) await nodeView.show(meant, node, document?.toString());
  else void say.info('Run the workflow first; then this shows what the node was asked and answered.');
}

/** Show a run, or a node of one, in the panel and in the preview. The tree keeps the focus, and with it its menu. */
async function openRun({ server, nodeView, pictures, tree }: Parts, given: unknown): Promise<void> {
  const item = given as Item | undefined;
  try {
    if (item?.kind !== 'run' && item?.kind !== 'node') return;
    const run = item.kind === 'node' ? item.run : item.summary.run;
    const uri = (item.kind === 'node' ? tree.known(run) : item.summary)?.uri;
    const report = await server.show(run);
    const last = report.revisions?.findLast(({ state }) => state === 'applied')?.revision;
    pictures.showReport(report, last === undefined ? undefined : drawingsOf(await server.revision(run, last))?.now);
    // Who walks through rows of results sees each run in the preview; the panel would cover the rows.
    if (isLight(given)) return;
    await nodeView.show(run, item.kind === 'node' ? item.node : undefined, uri ? vscode.Uri.parse(uri).toString() : undefined);
  } catch (problem) {
    void say.error(sentence(problem));
  }
}

function isLight(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'how' in given && given.how === 'light';
}

async function compareRuns({ documents, tree }: Parts, given: unknown, all: unknown): Promise<void> {
  try {
    const chosen = runsOf(given, all).map(({ run }) => run);
    const first = chosen[0] ?? (await pick(await tree.list(), 'Compare which run?'));
    if (first === undefined) return;
    const runs = await tree.list();
    const workflow = runs.find(({ run }) => run === first)?.workflow;
    const others = runs.filter(({ run }) => run !== first);
    // Runs of the same workflow first.
    others.sort((one, other) => Number(other.workflow === workflow) - Number(one.workflow === workflow));
    const second = chosen[1] ?? (await pick(others, 'Compare with which run?'));
    if (second !== undefined) await documents.showComparison(first, second);
  } catch (problem) {
    void say.error(sentence(problem));
  }
}

/** Make a case of a run, and show it to be edited: of the run that is given, else of one that is chosen. */
async function saveAsCase({ server, tree }: Parts, given: unknown): Promise<void> {
  try {
    const finished = async () => (await tree.list()).filter(({ status }) => status === 'finished');
    const named = given as { readonly run?: unknown } | undefined;
    const run = runOf(given)?.run ?? (typeof named?.run === 'string' ? named.run : await pick(await finished(), 'Save which run as a case?'));
    if (run === undefined) return;
    const { uri, range: { start } } = await server.saveAsCase(run);
    const place = new vscode.Position(start.line, start.character);
    await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection: new vscode.Range(place, place) });
  } catch (problem) {
    void say.error(sentence(problem));
  }
}

async function pick(runs: readonly RunSummary[], title: string): Promise<string | undefined> {
  const now = Date.now() / 1000;
  const items = runs.map((run) => ({
    label: `${shortName(run.workflow)}, ${ageText(run.started, now)}`,
    description: [run.status === 'cancelled' ? 'stopped' : run.status, run.seconds === null ? '' : secondsText(run.seconds), costText(run.usage)]
      .filter((part) => part !== '')
      .join(' · '),
    detail: run.run,
    run: run.run,
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.run;
}

async function deleteRuns({ server, tree }: Parts, given: unknown, all: unknown): Promise<void> {
  const runs = runsOf(given, all);
  if (runs.length === 0) return;
  const what = runs.length === 1 ? `the run ${runs[0]?.run ?? ''}` : `${runs.length} runs`;
  const detail = `${runs.length === 1 ? 'Its' : 'Their'} prompts, answers and results go from the journal. This can’t be undone.`;
  const yes = 'Delete';
  if ((await say.warning(`Delete ${what}?`, { modal: true, detail }, yes)) !== yes) return;
  const problems: string[] = [];
  for (const { run } of runs) await server.delete(run).catch((problem: unknown) => problems.push(sentence(problem)));
  tree.refresh();
  if (problems[0] !== undefined) void say.error(problems[0]);
}

/** The run that a command was given: an item of the tree, or an object with its id. */
function runOf(given: unknown): RunSummary | undefined {
  return runsOf(given, undefined)[0];
}

function runsOf(given: unknown, all: unknown): RunSummary[] {
  const items = Array.isArray(all) && all.length > 0 ? (all as Item[]) : [given as Item | undefined];
  return items.flatMap((item) => {
    if (item?.kind === 'run') return [item.summary];
    return item?.kind === 'workflow' ? item.runs.map(({ summary }) => summary) : [];
  });
}
