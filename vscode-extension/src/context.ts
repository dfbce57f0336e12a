import type * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';

/** What a part of the extension is given: `register(context: MerrowContext): vscode.Disposable` is its only door. */
export interface MerrowContext {
  readonly extension: vscode.ExtensionContext;
  /** The client of the server that runs now; none before its start, between two and after a failure. */
  client(): LanguageClient | undefined;
  /** Fired when `client()` changed; notification handlers belong here, since each client is a new one. */
  readonly onDidChangeClient: vscode.Event<LanguageClient | undefined>;
  /** The client once it runs; starts the server where nothing has asked for it yet. Rejects with a sentence. */
  readyClient(): Promise<LanguageClient>;
  readonly log: vscode.LogOutputChannel;
  /** Whether the workspace may run code, choose an interpreter and reach an endpoint. */
  trusted(): boolean;
  /** What the server's environment says of the model endpoint; `undefined` takes a variable away. */
  apiKeyEnvironment(): Promise<Environment>;
  /** Show in the status item that something goes on, until the answer is disposed of. */
  busy(kind: Activity, detail?: string): vscode.Disposable;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a status item can show besides the life of the server. */
export type Activity = 'checking' | 'running';

export type Register = (context: MerrowContext) => vscode.Disposable;
