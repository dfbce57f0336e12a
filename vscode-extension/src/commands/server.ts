import * as vscode from 'vscode';
import type { Access } from '../access/access';
import { Command, Setting } from '../contributed';
import { installed } from '../models/packages';
import type { ServerManager } from '../server/manager';
import { infoPage } from './info';

const scheme = 'merrow-info';
const page = vscode.Uri.from({ scheme, path: '/Merrow server info.md' });

/** Restart, log, info, and the choice of a Python. */
export function registerServerCommands(
  extension: vscode.ExtensionContext,
  server: ServerManager,
  access: Access,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const infoChanged = new vscode.EventEmitter<vscode.Uri>();
  const render = async (): Promise<string> => {
    const { choice, launched } = server;
    return infoPage({
      extension: String((extension.extension.packageJSON as { version: unknown }).version),
      editor: `${vscode.env.appName} ${vscode.version}`,
      platform: `${process.platform} ${process.arch}`,
      trusted: vscode.workspace.isTrusted,
      life: server.life,
      pid: server.pid,
      choice,
      command: launched === undefined ? undefined : [launched.command, ...launched.args],
      decision: await access.decision(),
      packages: choice?.kind === 'python' ? await installed(extension.globalStorageUri.fsPath, choice.facts) : undefined,
    });
  };
  return vscode.Disposable.from(
    infoChanged,
    vscode.workspace.registerTextDocumentContentProvider(scheme, { onDidChange: infoChanged.event, provideTextDocumentContent: render }),
    server.onDidChangeLife(() => {
      infoChanged.fire(page);
    }),
    vscode.commands.registerCommand(Command.restartServer, () => server.restart()),
    vscode.commands.registerCommand(Command.showLog, () => {
      log.show();
    }),
    vscode.commands.registerCommand(Command.showServerInfo, async () => {
      infoChanged.fire(page);
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(page), { preview: true });
    }),
    vscode.commands.registerCommand(Command.selectPython, selectPython),
  );
}

/** Have the user pick a program; the setting is the user's own, so that it holds in every workspace. */
async function selectPython(): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({
    title: 'The Python (3.11 or newer) that runs Merrow',
    openLabel: 'Use This Python',
    canSelectMany: false,
    ...(process.platform === 'win32' ? { filters: { Programs: ['exe'] } } : {}),
  });
  const path = chosen?.[0]?.fsPath;
  if (path === undefined) return;
  await vscode.workspace.getConfiguration('merrow').update(Setting.python, path, vscode.ConfigurationTarget.Global);
}
