import * as vscode from 'vscode';
import { sentence } from '../run/texts/rejection';
import { say } from '../say';
import type { Job, JobKind, News } from './protocol';
import type { AnyJobServer } from './server';

/** What is followed: a job of the document with this `uri`, or the one with the id `known`. */
interface Followed {
  readonly uri: string | null;
  readonly known?: string | undefined;
}

/** Hear how far a job is until this is disposed of, and have it stopped where the token is cancelled, however early. */
export function attend<Kind extends JobKind, One extends Job<Kind>, Told extends News<Kind>>(server: AnyJobServer<Kind, One, Told>, { uri, known }: Followed, token: vscode.CancellationToken, heard: (news: Told) => void): vscode.Disposable {
  let id = known;
  let stopped = false;
  /** The server was told to stop it: it is told once, since later there is nothing to stop. */
  let isTold = false;
  const stop = async () => {
    stopped = true;
    if (id === undefined || isTold) return;
    isTold = true;
    await server.cancel(id).catch((problem: unknown) => say.error(sentence(problem)));
  };
  return vscode.Disposable.from(
    server.onDidTell((news) => {
      const own = id === undefined ? news.uri !== null && vscode.Uri.parse(news.uri).toString() === uri : news[server.kind] === id;
      if (!own) return;
      id = news[server.kind];
      if (stopped) void stop();
      heard(news);
    }),
    token.onCancellationRequested(stop),
  );
}

/** Have a job done with how far it is shown, and a button that stops it; how it ended. */
export async function follow<Kind extends JobKind, One extends Job<Kind>>(server: AnyJobServer<Kind, One>, title: string, followed: Followed, begin: () => Promise<One>): Promise<One> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, async (progress, token) => {
    let shown = 0;
    const attending = attend(server, followed, token, ({ done, total, text }) => {
      const share = total === 0 ? 0 : (100 * Math.min(done, total)) / total;
      progress.report({ message: `${total === 0 ? `${done}` : `${done} of ${total}`} answers, ${text}`, increment: share - shown });
      shown = share;
    });
    try {
      return await begin();
    } finally {
      attending.dispose();
    }
  });
}
