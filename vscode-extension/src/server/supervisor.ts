import { Backoff, patience, type Patience } from './backoff';

/** What the server's life looks like from outside. */
export type Life =
  | { readonly state: 'stopped' }
  | { readonly state: 'starting' }
  | { readonly state: 'ready' }
  | { readonly state: 'waiting'; readonly reason: string; readonly seconds: number }
  | { readonly state: 'failed'; readonly reason: string; readonly remedy: Remedy };

/** What helps after a failure: another Python, or a look at the log and another try. */
export type Remedy = 'python' | 'restart';

/** A failure that another attempt would only repeat. */
export class Hopeless extends Error {
  constructor(
    message: string,
    readonly remedy: Remedy = 'restart',
  ) {
    super(message);
  }
}

/** How a server would be started; two of the same identity are the same server. */
export interface Plan {
  readonly identity: string;
}

/** A server that answers. */
export interface Session {
  /** Resolves with a reason when the server ends, whoever ended it. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** What a supervisor asks of the world. */
export interface Ports<P extends Plan> {
  /** How a server would be started now. Rejects with `Hopeless` where none can be. */
  plan(): Promise<P>;
  /** Start one; resolves when it answers. Rejects with a reason, or when `signal` says that nobody waits for it any more. */
  start(plan: P, signal: AbortSignal): Promise<Session>;
  /** Told of every change. */
  changed(life: Life): void;
  /** Seconds of a steady clock. */
  now(): number;
  /** Call back after some seconds; the answer takes that back. */
  later(seconds: number, callback: () => void): () => void;
}

/**
 * Keeps one server running. Requests that come together are one; a server whose plan did not change is left alone; one that ends
 * by itself is started again after a while, but not forever.
 */
export class Supervisor<P extends Plan> {
  private life: Life = { state: 'stopped' };
  private session: Session | undefined;
  private identity: string | undefined;
  private asked: 'no' | 'refresh' | 'restart' = 'no';
  private loop: Promise<void> | undefined;
  private cancelTimer: (() => void) | undefined;
  private starting: AbortController | undefined;
  private over = false;
  private readonly backoff: Backoff;

  constructor(
    private readonly ports: Ports<P>,
    limits: Patience = patience,
  ) {
    this.backoff = new Backoff(limits);
  }

  get current(): Life {
    return this.life;
  }

  /** Start the server, or another one where the plan changed. Settles when that is done, for good or ill; never rejects. */
  refresh(): Promise<void> {
    return this.request('refresh');
  }

  /** End the server and start it again. */
  restart(): Promise<void> {
    this.backoff.reset();
    this.starting?.abort();
    return this.request('restart');
  }

  /** End the server for good. */
  async stop(): Promise<void> {
    this.over = true;
    this.asked = 'no';
    this.cancelTimer?.();
    this.starting?.abort();
    await this.loop;
    await this.end();
    this.become({ state: 'stopped' });
  }

  private request(kind: 'refresh' | 'restart'): Promise<void> {
    if (this.over) return Promise.resolve();
    if (this.asked !== 'restart') this.asked = kind;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.loop ??= this.work().finally(() => {
      this.loop = undefined;
    });
    return this.loop;
  }

  private async work(): Promise<void> {
    while (this.asked !== 'no') {
      const force = this.asked === 'restart';
      this.asked = 'no';
      try {
        await this.arrange(force);
      } catch (problem) {
        await this.end();
        if (!this.askedAgain()) this.failed(problem);
      }
    }
  }

  private async arrange(force: boolean): Promise<void> {
    const plan = await this.ports.plan();
    if (this.askedAgain()) {
      // Asked again meanwhile: what was planned is stale, and a restart that was asked for stays one.
      if (force) this.asked = 'restart';
      return;
    }
    if (this.over || (this.session !== undefined && !force && plan.identity === this.identity)) return;
    this.become({ state: 'starting' });
    await this.end();
    this.starting = new AbortController();
    const session = await this.ports.start(plan, this.starting.signal).finally(() => {
      this.starting = undefined;
    });
    this.session = session;
    this.identity = plan.identity;
    this.become({ state: 'ready' });
    void session.ended.then((reason) => {
      if (this.session !== session) return;
      this.session = undefined;
      this.retry(reason);
    });
  }

  private askedAgain(): boolean {
    return this.asked !== 'no';
  }

  private async end(): Promise<void> {
    const session = this.session;
    this.session = undefined;
    await session?.stop();
  }

  private failed(problem: unknown): void {
    const reason = problem instanceof Error ? problem.message : String(problem);
    if (problem instanceof Hopeless) this.become({ state: 'failed', reason, remedy: problem.remedy });
    else this.retry(reason);
  }

  private retry(reason: string): void {
    if (this.over) return;
    const seconds = this.backoff.next(this.ports.now());
    if (seconds === undefined) {
      const times = this.backoff.count;
      this.backoff.reset();
      this.become({ state: 'failed', reason: `The server ended ${times} times in a row. ${reason}`, remedy: 'restart' });
      return;
    }
    this.become({ state: 'waiting', reason, seconds });
    if (this.asked === 'no') this.cancelTimer = this.ports.later(seconds, () => void this.request('refresh'));
  }

  private become(life: Life): void {
    this.life = life;
    this.ports.changed(life);
  }
}
