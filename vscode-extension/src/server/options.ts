import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError, type LanguageClientOptions, type Middleware } from 'vscode-languageclient/node';
import type { Activity } from '../context';
import { Command } from '../contributed';
import { selector } from '../selector';
import { interceptor } from './interceptors';
import { refusal, refused } from './restricted';
import { offerTrust } from './trust';

type Busy = (kind: Activity, detail?: string) => vscode.Disposable;

/** What a client is told of documents, settings and what may be asked. */
export function clientOptions(busy: Busy): LanguageClientOptions {
  return {
    documentSelector: selector.map((filter) => ({ ...filter })) as NonNullable<LanguageClientOptions['documentSelector']>,
    // The server refuses to run anything by itself too; `settings` come by request.
    initializationOptions: () => ({ trusted: vscode.workspace.isTrusted, settings: {} }),
    diagnosticCollectionName: 'merrow',
    diagnosticPullOptions: { onChange: true, onFocus: true },
    markdown: { isTrusted: { enabledCommands: [Command.showNode] }, supportHtml: false },
    middleware: middleware(busy),
  };
}

function middleware(busy: Busy): Middleware {
  // The editor tells of changes of a new untitled document before it tells that there is one, with all of its text.
  const open = new Set<string>();
  return {
    didOpen: (document, next) => {
      open.add(document.uri.toString());
      return next(document);
    },
    didChange: (event, next) => (open.has(event.document.uri.toString()) ? next(event) : Promise.resolve()),
    didClose: (document, next) => {
      open.delete(document.uri.toString());
      return next(document);
    },
    provideDiagnostics: async (document, previous, token, next) => {
      const checking = busy('checking');
      try {
        return await next(document, previous, token);
      } finally {
        checking.dispose();
      }
    },
    executeCommand: (command, given: unknown[], next) => {
      const own = interceptor(command);
      return own === undefined ? (next(command, given) as unknown) : own(...given);
    },
    sendRequest: async (type, params, token, next) => {
      const method = typeof type === 'string' ? type : type.method;
      if (refused(vscode.workspace.isTrusted, method, params)) {
        offerTrust();
        throw new ResponseError(LSPErrorCodes.RequestFailed, refusal);
      }
      return next(type, params, token);
    },
  };
}
