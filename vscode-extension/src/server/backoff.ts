/** How often and how soon a server that ended by itself is started again. */
export interface Patience {
  /** Seconds before each attempt in a row. */
  readonly delays: readonly number[];
  /** Seconds of quiet after which earlier ends no longer count. */
  readonly forgets: number;
}

export const patience: Patience = { delays: [0.5, 1, 2, 4, 8], forgets: 180 };

/** Counts the ends of one server. Times are seconds of any steady clock. */
export class Backoff {
  private ends: number[] = [];

  constructor(private readonly patience: Patience) {}

  /** The seconds to wait before the next start after an end at `now`; undefined when it has ended too often. */
  next(now: number): number | undefined {
    this.ends = this.ends.filter((end) => now - end < this.patience.forgets);
    const delay = this.patience.delays[this.ends.length];
    this.ends.push(now);
    return delay;
  }

  /** How often it ended of late. */
  get count(): number {
    return this.ends.length;
  }

  reset(): void {
    this.ends = [];
  }
}
