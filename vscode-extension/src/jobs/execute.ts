import type * as vscode from 'vscode';
import { WorkDoneProgress } from 'vscode-languageclient/node';
import type { MerrowContext } from '../context';

let tokens = 0;

/** How a command is carried out: cancelled by a `token`; how far it is is `told`, in words. */
interface Manner {
  readonly token?: vscode.CancellationToken;
  readonly told?: (message: string) => void;
}

/** Have the server carry out a command that works for a while. Rejects with a sentence. */
export async function execute<Answer>(context: MerrowContext, command: string, argument: unknown, { token, told }: Manner = {}): Promise<Answer> {
  const client = await context.readyClient();
  // With a token of ours the server has no progress of its own shown beside that of the extension.
  const workDoneToken = `merrow-job-${(tokens += 1)}`;
  const listening = told === undefined ? undefined : client.onProgress(WorkDoneProgress.type, workDoneToken, (news) => {
    if (news.kind === 'report' && news.message !== undefined) told(news.message);
  });
  try {
    return await client.sendRequest<Answer>('workspace/executeCommand', { command, arguments: [argument], workDoneToken }, token);
  } finally {
    listening?.dispose();
  }
}
