import type { Answer, Change, DrawRequest, Drawing, Question } from './protocol';

/** A drawing that nobody waits for any more. */
export class Superseded extends Error {}

/** A drawing that took too long and was ended. */
export class TooLong extends Error {
  constructor(seconds: number) {
    super(`Drawing took longer than ${seconds} seconds and was stopped`);
  }
}

interface Waiting {
  readonly request: DrawRequest;
  /** The number of the picture that only changes are asked of, when the frame is asked: an earlier change may be part of it by then. */
  readonly since: (() => number) | undefined;
  readonly seconds: number;
  readonly resolve: (answer: Drawing | Change | null) => void;
  readonly reject: (reason: Error) => void;
}

/** Times the usual patience for a drawing that somebody insists on. */
const INSISTING = 15;

/** The seconds that the page says a drawing may take. */
function patience(): number {
  return Number(document.body.dataset['seconds']) || 20;
}

/** Milliseconds under which a drawing under way is not worth ending: a new frame takes as long to start. */
const SHORT = 1500;

/**
 * Draws in a frame of its own (`webview/engine`). One drawing is under way at a time and the newest one waits; what it replaces
 * is rejected as `Superseded`. A long drawing of all whose text is out of date is ended, unless it is half done; one that goes on for too
 * long is ended with its frame and rejected as `TooLong`.
 */
export class Engine {
  private frame: HTMLIFrameElement | undefined;
  private port: Promise<MessagePort> | undefined;
  private current: { waiting: Waiting; id: number; since: number } | undefined;
  private next: Waiting | undefined;
  private count = 0;
  private limit: number | undefined;
  private lastTook = 0;

  /** `source` is the script of the drawing frame, `nonce` what the page's policy allows scripts by. */
  constructor(
    private readonly source: Promise<string>,
    private readonly nonce: string,
  ) {}

  /** Start the frame before there is anything to draw. */
  prepare(): void {
    this.port ??= this.start();
    // Whoever draws hears of what went wrong.
    this.port.catch(() => { this.port = undefined; });
  }

  /** Milliseconds that the last drawing took. */
  get took(): number {
    return this.lastTook;
  }

  /** `patiently`: somebody insists on this drawing, which may take longer. */
  draw(request: DrawRequest, patiently = false): Promise<Drawing> {
    return this.ask({ request, since: undefined, seconds: patience() * (patiently ? INSISTING : 1) }) as Promise<Drawing>;
  }

  /** What changes in the picture with the number that `since` says; null where all must be drawn. */
  change(request: DrawRequest, since: () => number): Promise<Change | null> {
    return this.ask({ request, since, seconds: patience() }) as Promise<Change | null>;
  }

  private ask(question: Omit<Waiting, 'resolve' | 'reject'>): Promise<Drawing | Change | null> {
    return new Promise((resolve, reject) => {
      this.next?.reject(new Superseded());
      this.next = { ...question, resolve, reject };
      if (this.current === undefined) void this.begin();
      else if (this.current.waiting.since === undefined && this.lastTook > SHORT && performance.now() - this.current.since < this.lastTook / 2) {
        this.end(new Superseded());
        void this.begin();
      }
    });
  }

  dispose(): void {
    this.next?.reject(new Superseded());
    this.next = undefined;
    this.end(new Superseded());
  }

  private async begin(): Promise<void> {
    const waiting = this.next;
    if (waiting === undefined) return;
    this.next = undefined;
    const id = (this.count += 1);
    this.current = { waiting, id, since: performance.now() };
    clearTimeout(this.limit);
    this.limit = window.setTimeout(() => {
      if (!this.isCurrent(id)) return;
      this.end(new TooLong(waiting.seconds));
      void this.begin();
    }, waiting.seconds * 1000);
    try {
      this.port ??= this.start();
      const port = await this.port;
      if (!this.isCurrent(id)) return;
      this.current.since = performance.now();
      const { request, since } = waiting;
      const question: Question = { id, request, ...(since === undefined ? {} : { since: since() }) };
      port.postMessage(question);
    } catch (problem) {
      this.port = undefined;
      this.finish(id, () => { waiting.reject(problem instanceof Error ? problem : new Error(String(problem))); });
    }
  }

  private answered(answer: Answer): void {
    const current = this.current;
    if (current?.id !== answer.id) return;
    if (current.waiting.since === undefined) this.lastTook = performance.now() - current.since;
    this.finish(answer.id, () => {
      if ('drawing' in answer) current.waiting.resolve(answer.drawing);
      else if ('change' in answer) current.waiting.resolve(answer.change);
      else current.waiting.reject(new Error(answer.problem));
    });
  }

  /** Whether a drawing is still wanted, after a wait. */
  private isCurrent(id: number): boolean {
    return this.current?.id === id;
  }

  private finish(id: number, settle: () => void): void {
    if (this.current?.id !== id) return;
    clearTimeout(this.limit);
    this.current = undefined;
    settle();
    void this.begin();
  }

  /** End the frame with what it does. */
  private end(reason: Error): void {
    clearTimeout(this.limit);
    this.current?.waiting.reject(reason);
    this.current = undefined;
    this.frame?.remove();
    this.frame = this.port = undefined;
  }

  private async start(): Promise<MessagePort> {
    const source = await this.source;
    const frame = document.createElement('iframe');
    this.frame = frame;
    // No "allow-same-origin": the frame has no origin but its own, thus a process of its own, and nothing to reach.
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.className = 'drawing-frame';
    frame.setAttribute('aria-hidden', 'true');
    frame.tabIndex = -1;
    frame.srcdoc = `<!doctype html><meta charset="utf-8"><body><script nonce="${this.nonce}">${source.replaceAll('</script', '<\\/script')}</script>`;
    const { port1, port2 } = new MessageChannel();
    const ready = new Promise<void>((resolve) => {
      port1.onmessage = ({ data }: MessageEvent<Answer | 'ready'>) => {
        if (data === 'ready') resolve();
        else this.answered(data);
      };
    });
    await new Promise<void>((resolve) => {
      frame.onload = () => { resolve(); };
      document.body.append(frame);
    });
    frame.contentWindow?.postMessage('start', '*', [port2]);
    await ready;
    return port1;
  }
}
