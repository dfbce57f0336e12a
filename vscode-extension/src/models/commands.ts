import * as vscode from 'vscode';
import { Command } from '../contributed';
import { refusal } from '../server/restricted';
import type { ServerManager } from '../server/manager';
import { findPython } from '../python/find';
import type { Choice } from '../python/interpreter';
import { withoutSecrets } from './failure';
import { install, installed, packagesFolder, remove, requirement, type Places } from './packages';
import { plain } from '../plain';
import { say } from '../say';

/** Setting up what real endpoints need, and taking it away again. */
export function registerModelCommands(places: Places & { extension: string }, server: ServerManager, log: vscode.LogOutputChannel): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.setUpModelAccess, () => setUp(places, server, log)),
    vscode.commands.registerCommand(Command.removeModelAccess, async () => {
      await remove(places.storage);
      server.reconsider();
      void say.info('The packages for model endpoints are removed. The embedded model goes on working.');
    }),
  );
}

let running: Promise<boolean> | undefined;

/** Whether the packages are there in the end. Two requests at once are one. */
function setUp(places: Places & { extension: string }, server: ServerManager, log: vscode.LogOutputChannel): Promise<boolean> {
  running ??= consented(places, server, log).finally(() => {
    running = undefined;
  });
  return running;
}

async function consented(places: Places & { extension: string }, server: ServerManager, log: vscode.LogOutputChannel): Promise<boolean> {
  if (!vscode.workspace.isTrusted) {
    void say.warning(refusal);
    return false;
  }
  const choice = await findPython(places.extension);
  const facts = factsOf(choice);
  if (facts === undefined) return false;
  if ((await installed(places.storage, facts)) !== undefined) {
    void say.info('Model access is set up already.');
    return true;
  }
  const go = 'Install';
  const detail =
    `Merrow installs ${requirement} and what it needs (about 55 MB) from your Python package index into a folder of its own:\n` +
    `${packagesFolder(places.storage, facts)}\n\nNothing else on this machine changes. The embedded model works without it.`;
  const answer = await say.info('Set up model access?', { modal: true, detail }, go);
  if (answer !== go) return false;
  try {
    await withProgress((report, signal) => install(facts, places, report, signal), log);
  } catch (problem) {
    await failed(problem instanceof Error ? problem.message : String(problem), log);
    return false;
  }
  server.reconsider();
  void say.info('Model access is set up.');
  return true;
}

function factsOf(choice: Choice) {
  if (choice.kind === 'python') return choice.facts;
  const why =
    choice.kind === 'program'
      ? 'The installed merrow brings its own packages; install openai[aiohttp] beside it to reach model endpoints.'
      : choice.problem;
  void say.error(why);
  return undefined;
}

async function withProgress(
  work: (report: (line: string) => void, signal: AbortSignal) => Promise<unknown>,
  log: vscode.LogOutputChannel,
): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title: 'Setting up model access', cancellable: true };
  await vscode.window.withProgress(options, async (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => {
      abort.abort();
    });
    const report = (line: string): void => {
      const shown = withoutSecrets(line);
      log.info(`[set-up] ${shown}`);
      const step = /^(Collecting|Downloading|Installing)\s+\S+/.exec(shown);
      if (step !== null) progress.report({ message: plain(step[0]) });
    };
    await work(report, abort.signal);
  });
}

async function failed(reason: string, log: vscode.LogOutputChannel): Promise<void> {
  log.error(`Setting up model access failed. ${reason}`);
  const again = 'Try Again';
  const show = 'Show Log';
  const chosen = await say.error(`Model access was not set up. ${reason}`, again, show);
  if (chosen === again) await vscode.commands.executeCommand(Command.setUpModelAccess);
  if (chosen === show) log.show();
}
