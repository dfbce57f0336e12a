import * as vscode from 'vscode';
import { WorkDoneProgress } from 'vscode-languageclient/node';
import type { MerrowContext } from '../context';

let tokens = 0;

/** How a command is carried out: cancelled by a `token`; how far it is is `told`, in words and in percent. */
export interface Manner {
  readonly token?: vscode.CancellationToken;
  readonly told?: (message: string, percentage: number) => void;
}

/**
 * Have the server carry out a command that works for a while. What is cancelled after it began answers with what came of it.
 * Rejects with a sentence.
 */
export async function execute<Answer>(context: MerrowContext, command: string, argument: unknown, { token, told }: Manner = {}): Promise<Answer> {
  const client = await context.readyClient();
  // With a token of ours the server has no progress of its own shown beside that of the extension.
  const workDoneToken = `merrow-job-${(tokens += 1)}`;
  const leaving = new vscode.CancellationTokenSource();
  let hasBegun = false;
  const parts = [
    leaving,
    client.onProgress(WorkDoneProgress.type, workDoneToken, (news) => {
      if (news.kind === 'begin') hasBegun = true;
      if (news.kind === 'report' && news.message !== undefined) told?.(news.message, news.percentage ?? 0);
    }),
    token?.onCancellationRequested(() => {
      if (hasBegun) void client.sendNotification('window/workDoneProgress/cancel', { token: workDoneToken });
      else leaving.cancel();
    }),
  ];
  try {
    return await client.sendRequest<Answer>('workspace/executeCommand', { command, arguments: [argument], workDoneToken }, leaving.token);
  } finally {
    for (const part of parts) part?.dispose();
  }
}
