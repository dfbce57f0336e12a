import * as vscode from 'vscode';
import { Command } from '../contributed';
import { refusal } from '../server/restricted';
import type { ServerManager } from '../server/manager';
import { findPython } from '../python/find';
import type { Choice } from '../python/interpreter';
import { withoutSecrets } from './failure';
import { MODELS, TOOLS, install, installed, packagesFolder, remove, type PackageSet, type Places } from './packages';
import { tried } from './trying';
import { plain } from '../plain';
import { say } from '../say';

/** A set of packages, in words. */
interface Access {
  readonly set: PackageSet;
  readonly name: string;
  readonly size: string;
  /** What works without them. */
  readonly without: string;
  /** What installs them beside an installed `merrow`. */
  readonly beside: string;
}

const MODEL_ACCESS: Access = { set: MODELS, name: 'model access', size: '55 MB', without: 'The embedded model works without it.', beside: 'install openai[aiohttp] beside it to reach model endpoints.' };
const TOOL_ACCESS: Access = { set: TOOLS, name: 'tools', size: '45 MB', without: 'Workflows without tools work without it.', beside: 'install mcp beside it to reach servers of tools.' };

/** Setting up what real endpoints and servers of tools need, and taking it away again. */
export function registerModelCommands(places: Places & { extension: string }, server: ServerManager, log: vscode.LogOutputChannel): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.setUpModelAccess, () => setUp(places, server, log, MODEL_ACCESS)),
    vscode.commands.registerCommand(Command.setUpTools, () => setUp(places, server, log, TOOL_ACCESS)),
    vscode.commands.registerCommand(Command.removeModelAccess, async () => {
      await remove(places.storage);
      server.reconsider();
      void say.info('The packages for model endpoints and tools are removed. The embedded model goes on working.');
    }),
  );
}

const running = new Map<Access, Promise<boolean>>();

/** Whether the packages are there in the end. Two requests at once are one. */
function setUp(places: Places & { extension: string }, server: ServerManager, log: vscode.LogOutputChannel, access: Access): Promise<boolean> {
  const going = running.get(access) ?? consented(places, server, log, access).finally(() => running.delete(access));
  running.set(access, going);
  return going;
}

async function consented(places: Places & { extension: string }, server: ServerManager, log: vscode.LogOutputChannel, access: Access): Promise<boolean> {
  if (!vscode.workspace.isTrusted) {
    void say.warning(refusal);
    return false;
  }
  const { set, name, size, without } = access;
  const choice = await findPython(places.extension);
  const facts = factsOf(choice, access);
  if (facts === undefined) return false;
  const isSetUp = `${name[0]?.toUpperCase() ?? ''}${name.slice(1)} ${set === TOOLS ? 'are' : 'is'} set up`;
  if ((await installed(places.storage, facts, set)) !== undefined) {
    void say.info(`${isSetUp} already.`);
    return true;
  }
  const go = 'Install';
  const detail =
    `Merrow installs ${set.requirement} and what it needs (about ${size}) from your Python package index into a folder of its own:\n` +
    `${packagesFolder(places.storage, facts, set)}\n\nNothing else on this machine changes. ${without}`;
  const answer = await say.info(`Set up ${name}?`, { modal: true, detail }, go);
  if (answer !== go) return false;
  const work = (): Promise<void> => withProgress((report, signal) => install(facts, places, report, signal, set), log, access);
  if (!(await tried(work, (reason) => wantsAgain(reason, log, access)))) return false;
  server.reconsider();
  void say.info(`${isSetUp}.`);
  return true;
}

function factsOf(choice: Choice, { beside }: Access) {
  if (choice.kind === 'python') return choice.facts;
  const why = choice.kind === 'program' ? `The installed merrow brings its own packages; ${beside}` : choice.problem;
  void say.error(why);
  return undefined;
}

async function withProgress(
  work: (report: (line: string) => void, signal: AbortSignal) => Promise<unknown>,
  log: vscode.LogOutputChannel,
  { name }: Access,
): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title: `Setting up ${name}`, cancellable: true };
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

/** Say why it failed; whether the user wants it tried again. */
async function wantsAgain(reason: string, log: vscode.LogOutputChannel, { name, set }: Access): Promise<boolean> {
  log.error(`Setting up ${name} failed. ${reason}`);
  const again = 'Try Again';
  const show = 'Show Log';
  const chosen = await say.error(`${set === TOOLS ? 'Tools were' : 'Model access was'} not set up. ${reason}`, again, show);
  if (chosen === show) log.show();
  return chosen === again;
}
