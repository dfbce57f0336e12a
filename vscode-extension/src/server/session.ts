import { spawn, type ChildProcess } from 'node:child_process';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  MessageType,
  RevealOutputChannelOn,
  ShowMessageNotification,
  ShowMessageRequest,
  State,
  type LanguageClientOptions,
} from 'vscode-languageclient/node';
import { say } from '../say';
import { RunCapabilities } from './capabilities';
import { applied, type Launch } from './launch';
import { Hopeless, type Session } from './supervisor';
import { Tail } from './tail';

/** A server with the client that talks to it. */
export interface ClientSession extends Session {
  readonly client: LanguageClient;
  readonly pid: number | undefined;
}

/** A client that writes its troubles to the log. What concerns the user is told by the status item and `FailureNotice`. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

const stopPatience = 3000;
const grace = 300;

/** Start the process and shake hands. Rejects with a sentence; the process is then gone. */
export async function startSession(
  launch: Launch,
  options: LanguageClientOptions,
  log: vscode.LogOutputChannel,
  seconds: number,
  signal: AbortSignal,
): Promise<ClientSession> {
  const child = spawn(launch.command, launch.args, {
    cwd: launch.cwd,
    env: applied(process.env, launch.environment),
    stdio: 'pipe',
    windowsHide: true,
  });
  const tail = new Tail(20);
  const ended = endOf(child, tail);
  // An unexpected end is the supervisor's business: it decides whether to start another one.
  const closed = { action: CloseAction.DoNotRestart, handled: true };
  const client = new QuietClient('merrow', 'Merrow', () => Promise.resolve(child), {
    ...options,
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    errorHandler: { error: () => ({ action: ErrorAction.Continue, handled: true }), closed: () => closed },
    initializationFailedHandler: () => false,
    stdioOptions: {
      stdout: () => undefined,
      stderr: (input) => {
        input.setEncoding('utf8').on('data', (text: string) => {
          tail.add(text);
          for (const line of text.trimEnd().split('\n')) log.info(`[server] ${line}`);
        });
      },
    },
  });
  client.registerFeature(new RunCapabilities());
  const late = deferred<never>();
  const timer = setTimeout(() => {
    late.reject(new Hopeless(`The server did not start within ${seconds} seconds and was ended.`));
  }, seconds * 1000);
  const given = () => {
    late.reject(new Error('The start was given up.'));
  };
  signal.addEventListener('abort', given, { once: true });
  const early = ended.then((reason) => Promise.reject(new Error(reason)));
  try {
    await Promise.race([client.start(), late.promise, early]);
  } catch (problem) {
    // Where the process ended, what it said tells more than that the connection is gone.
    const reason = await Promise.race([ended, after(grace)]);
    child.kill('SIGKILL');
    await ended;
    await discard(client);
    throw reason === undefined || problem instanceof Hopeless || signal.aborted ? problem : new Error(reason);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', given);
    late.promise.catch(() => undefined);
    early.catch(() => undefined);
  }
  // In the place of the library's own, which shows links to commands as such.
  client.onNotification(ShowMessageNotification.type, ({ type, message }) => {
    const show = type === MessageType.Error ? say.error : type === MessageType.Warning ? say.warning : say.info;
    void show(message);
  });
  client.onRequest(ShowMessageRequest.type, async ({ type, message, actions = [] }) => {
    const show = type === MessageType.Error ? say.error : type === MessageType.Warning ? say.warning : say.info;
    const chosen = await show(message, ...actions.map(({ title }) => title));
    return actions.find(({ title }) => title === chosen) ?? null;
  });
  return {
    client,
    pid: child.pid,
    ended: ended.then(async (reason) => {
      await discard(client);
      return reason;
    }),
    stop: () => stop(client, child, ended),
  };
}

async function stop(client: LanguageClient, child: ChildProcess, ended: Promise<string>): Promise<void> {
  await discard(client);
  const timer = setTimeout(() => child.kill('SIGKILL'), stopPatience);
  await ended;
  clearTimeout(timer);
}

/** Let go of a client in whatever state it is. */
async function discard(client: LanguageClient): Promise<void> {
  try {
    if (client.state === State.Running) await client.stop(stopPatience);
    await client.dispose();
  } catch {
    // A client whose server is gone says so; that is known.
  }
}

/** Resolves with a sentence when the process has ended or could not be started. */
function endOf(child: ChildProcess, tail: Tail): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (problem) => {
      resolve(`The server can't be started: ${problem.message}.`);
    });
    // A pipe to a process that is gone must not end the editor's extension host.
    child.stdin?.on('error', () => undefined);
    child.once('close', (code, signal) => {
      const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
      const said = tail.last;
      resolve(`The server ended ${how}${said === '' ? '' : ` (${said})`}.`);
    });
  });
}

function after(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => {
      resolve(undefined);
    }, milliseconds);
  });
}

function deferred<T>(): { readonly promise: Promise<T>; reject(problem: Error): void } {
  let reject: (problem: Error) => void = () => undefined;
  const promise = new Promise<T>((_, no) => {
    reject = no;
  });
  return { promise, reject };
}
