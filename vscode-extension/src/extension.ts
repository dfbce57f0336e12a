import * as path from 'node:path';
import * as vscode from 'vscode';
import { Access } from './access/access';
import { registerAccessCommands } from './access/commands';
import { variables } from './access/decide';
import { registerDocumentCommands } from './commands/documents';
import { registerServerCommands } from './commands/server';
import type { MerrowContext } from './context';
import { Setting } from './contributed';
import { features } from './features';
import { registerModelCommands } from './models/commands';
import { registerUsing } from './models/using';
import { environmentsId, onDidChange, pythonId } from './python/extensions';
import { ServerManager } from './server/manager';
import { FailureNotice } from './server/notify';
import { Status } from './status';
import { whenWanted } from './wanted';

let server: ServerManager | undefined;

/** What the extension gives to its own tests, and to other extensions that want to talk to the server. */
export type Api = Pick<MerrowContext, 'client' | 'onDidChangeClient' | 'readyClient'>;

export function activate(extension: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel('Merrow', { log: true });
  const status = new Status();
  const places = { extension: extension.extensionPath, storage: extension.globalStorageUri.fsPath };
  const access = new Access(extension, log, () => {
    manager.reconsider();
  });
  const manager = new ServerManager(places, access, status, log);
  server = manager;
  const notice = new FailureNotice();
  manager.onDidChangeLife((life) => {
    notice.tell(life);
  });
  const context: MerrowContext = {
    extension,
    client: () => manager.client(),
    onDidChangeClient: manager.onDidChangeClient,
    readyClient: () => manager.ready(),
    log,
    trusted: () => vscode.workspace.isTrusted,
    apiKeyEnvironment: async () => variables(await access.decision()),
    busy: (kind, detail) => status.busy(kind, detail),
  };
  const models = { ...places, constraints: path.join(places.extension, 'python', 'constraints.txt') };
  extension.subscriptions.push(
    log,
    status,
    manager,
    registerServerCommands(extension, manager, access, log),
    registerAccessCommands(access, () => {
      manager.reconsider();
    }),
    registerModelCommands(models, manager, log),
    registerUsing(context),
    registerDocumentCommands(context),
    ...features.map((register) => register(context)),
    ...reasonsToReconsider(manager),
    whenWanted(() => void manager.ensure()),
  );
  return context;
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** What may lead to another interpreter, endpoint or key. Whether it does is decided from the facts, not from the event. */
function reasonsToReconsider(manager: ServerManager): vscode.Disposable[] {
  const neighbours = [environmentsId, pythonId].map((id) => vscode.extensions.getExtension<unknown>(id));
  const again = (): void => {
    manager.reconsider();
  };
  const listening = { now: onDidChange(neighbours, again) };
  return [
    vscode.workspace.onDidChangeConfiguration((event) => {
      if ([Setting.python, Setting.endpoint].some((name) => event.affectsConfiguration(`merrow.${name}`))) again();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void manager.trusted()),
    // Another extension's API is there once it is active; the first start of the server makes it so.
    manager.onDidChangeClient(() => {
      for (const listener of listening.now) listener.dispose();
      listening.now = onDidChange(neighbours, again);
    }),
    new vscode.Disposable(() => {
      for (const listener of listening.now) listener.dispose();
    }),
  ];
}
