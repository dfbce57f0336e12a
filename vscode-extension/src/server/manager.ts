import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import type { Access } from '../access/access';
import { variables } from '../access/decide';
import { Setting, defaults } from '../contributed';
import { allInstalled } from '../models/packages';
import { findPython } from '../python/find';
import { explained, type Choice } from '../python/interpreter';
import type { Status } from '../status';
import { launch, type Launch, type Places } from './launch';
import type { ClientSession } from './session';
import { Hopeless, Supervisor, type Life } from './supervisor';

/** The language server of this window: finds its Python, keeps it running, and hands out its client. */
export class ServerManager implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<LanguageClient | undefined>();
  readonly onDidChangeClient = this.changed.event;
  private readonly lives = new vscode.EventEmitter<Life>();
  readonly onDidChangeLife = this.lives.event;
  private readonly supervisor: Supervisor<Launch>;
  private session: ClientSession | undefined;
  private given: LanguageClient | undefined;
  /** What the last search for a Python gave, and how the server was last to be started. */
  choice: Choice | undefined;
  launched: Launch | undefined;
  private wanted = false;

  constructor(
    private readonly places: Places,
    private readonly access: Access,
    private readonly status: Status,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.supervisor = new Supervisor<Launch>({
      plan: () => this.plan(),
      start: (plan, signal) => this.start(plan, signal),
      changed: (life) => {
        this.became(life);
      },
      now: () => performance.now() / 1000,
      later: (seconds, callback) => {
        const timer = setTimeout(callback, seconds * 1000);
        return () => {
          clearTimeout(timer);
        };
      },
    });
  }

  get life(): Life {
    return this.supervisor.current;
  }

  get pid(): number | undefined {
    return this.client()?.isRunning() === true ? this.session?.pid : undefined;
  }

  client(): LanguageClient | undefined {
    return this.given;
  }

  /** The client once it runs. Rejects with the reason where it can't. */
  async ready(): Promise<LanguageClient> {
    await this.ensure();
    const client = this.client();
    if (client !== undefined) return client;
    const { life } = this;
    throw new Error(life.state === 'failed' || life.state === 'waiting' ? life.reason : 'The server does not run.');
  }

  /** Start the server where it does not run. */
  async ensure(): Promise<void> {
    this.wanted = true;
    if (this.life.state !== 'ready') await this.supervisor.refresh();
  }

  /** Something changed that the server was started with: start another one where that makes a difference. */
  reconsider(): void {
    if (this.wanted) void this.supervisor.refresh();
  }

  /** The user trusts the workspace from now on. */
  async trusted(): Promise<void> {
    await this.client()?.sendNotification('merrow/trust', { trusted: true });
    this.reconsider();
  }

  async restart(): Promise<void> {
    this.wanted = true;
    await this.supervisor.restart();
  }

  async stop(): Promise<void> {
    await this.supervisor.stop();
  }

  dispose(): void {
    this.changed.dispose();
    this.lives.dispose();
  }

  private async plan(): Promise<Launch> {
    const [choice, decision] = await Promise.all([findPython(this.places.extension), this.access.decision()]);
    this.choice = choice;
    if (choice.kind === 'none') throw new Hopeless(choice.problem, 'python');
    this.access.raise(decision);
    const packages = choice.kind === 'python' ? await allInstalled(this.places.storage, choice.facts) : [];
    return launch(choice, this.places, variables(decision), packages);
  }

  private async start(plan: Launch, signal: AbortSignal): Promise<ClientSession> {
    this.log.info(`Starting the server. ${explained(plan.choice)}`);
    this.launched = plan;
    const seconds = vscode.workspace.getConfiguration('merrow').get(Setting.startTimeout, defaults.startTimeout);
    const begun = performance.now();
    const busy = this.status.busy.bind(this.status);
    // The protocol's library is large: whoever has no workflow open does not wait for it.
    const [{ clientOptions }, { startSession }] = await Promise.all([import('./options'), import('./session')]);
    this.session = await startSession(plan, clientOptions(busy), this.log, seconds, signal);
    this.log.info(`The server is ready after ${Math.round(performance.now() - begun)} ms (process ${this.session.pid ?? '?'}).`);
    return this.session;
  }

  private became(life: Life): void {
    if (life.state === 'failed') this.log.error(life.reason);
    if (life.state === 'waiting') this.log.warn(`${life.reason} Another start in ${life.seconds} s.`);
    const client = life.state === 'ready' ? this.session?.client : undefined;
    const other = client !== this.given;
    this.given = client;
    this.status.set(life);
    this.lives.fire(life);
    if (other) this.changed.fire(client);
  }
}
