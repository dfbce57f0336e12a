import * as path from 'node:path';
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';
import type { MerrowContext } from './context';
import { features } from './features';

let stop: (() => Promise<void>) | undefined;

export async function activate(extension: vscode.ExtensionContext): Promise<MerrowContext> {
  const log = vscode.window.createOutputChannel('Merrow', { log: true });
  const changed = new vscode.EventEmitter<LanguageClient | undefined>();
  let client: LanguageClient | undefined;
  const context: MerrowContext = {
    extension,
    client: () => client,
    onDidChangeClient: changed.event,
    readyClient: () => (client === undefined ? Promise.reject(new Error('The server does not run.')) : Promise.resolve(client)),
    log,
    trusted: () => vscode.workspace.isTrusted,
    apiKeyEnvironment: () => Promise.resolve({}),
    busy: () => new vscode.Disposable(() => undefined),
  };
  extension.subscriptions.push(log, changed, ...features.map((register) => register(context)));
  const at = (...parts: string[]) => path.join(extension.extensionPath, ...parts);
  const started = new LanguageClient(
    'merrow',
    'Merrow',
    { command: 'python3', args: ['-I', '-S', '-X', 'utf8', at('bootstrap', 'start_server.py'), at('python', 'lib')] },
    { documentSelector: [{ language: 'mermaid' }, { language: 'markdown' }], outputChannel: log },
  );
  await started.start();
  client = started;
  stop = () => started.stop();
  changed.fire(client);
  return context;
}

export async function deactivate(): Promise<void> {
  await stop?.();
}
