/** Which of many rows are in the page. Pure. */

/** Rows that are in the page above and below those that are seen. */
const MARGIN = 10;

/** Rows in the page at most. */
export const MOST_SHOWN = 160;

export interface Window {
  readonly first: number;
  /** After the last one. */
  readonly end: number;
}

/** The rows that are in the page, of `total` ones of one `height`, where `high` pixels from `top` on are seen. */
export function windowOf(top: number, high: number, height: number, total: number): Window {
  const first = Math.max(0, Math.min(total, Math.floor(top / height)) - MARGIN);
  const seen = Math.ceil(high / height) + 2 * MARGIN + 1;
  return { first, end: Math.min(total, first + Math.min(seen, MOST_SHOWN)) };
}

/** Where to scroll so that a row is seen below the head, moved as little as possible. */
export function scrollFor(row: number, top: number, high: number, height: number): number {
  const at = row * height;
  if (at < top) return at;
  return at + height > top + high ? at + height - high : top;
}

/** The row that a key leads to; undefined for a key that leads nowhere. `seen` rows are a page. */
export function rowAfter(key: string, row: number, seen: number, total: number): number | undefined {
  const to = { ArrowDown: row + 1, ArrowUp: row - 1, PageDown: row + seen, PageUp: row - seen, Home: 0, End: total - 1 }[key];
  return to === undefined || total === 0 ? undefined : Math.max(0, Math.min(total - 1, to));
}

/** Rows of which pages are kept. */
const KEPT = 16;

/** The pages of rows that were asked for, those that were looked at last. */
export class Pages<Row> {
  private readonly kept = new Map<number, readonly Row[]>();

  constructor(readonly size: number) {}

  row(place: number): Row | undefined {
    return this.kept.get(Math.floor(place / this.size))?.[place % this.size];
  }

  /** The numbers of the pages that these rows are on and that are not there. */
  missing({ first, end }: Window): number[] {
    const wanted: number[] = [];
    for (let number = Math.floor(first / this.size); number * this.size < end; number += 1) {
      const known = this.kept.get(number);
      this.kept.delete(number);
      if (known === undefined) wanted.push(number);
      else this.kept.set(number, known);
    }
    return wanted;
  }

  put(number: number, rows: readonly Row[]): void {
    this.kept.delete(number);
    this.kept.set(number, rows);
    for (const old of this.kept.keys()) {
      if (this.kept.size <= KEPT) break;
      this.kept.delete(old);
    }
  }

  clear(): void {
    this.kept.clear();
  }
}
