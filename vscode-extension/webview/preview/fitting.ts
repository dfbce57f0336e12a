/** Where a picture is in its viewport, and how large. Pure. */

export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
  /**
   * `readable`: as large as the viewport allows, but never so small that labels can't be read. `whole`: all of the picture. `free`:
   * as the user put it.
   */
  readonly mode: 'readable' | 'whole' | 'free';
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const SMALLEST = 0.02;
export const LARGEST = 8;
/** The scale at which labels can still be read: their letters are 14 pixels high, those of captions 12. */
export const READABLE = 0.75;
export const MARGIN = 24;

/** The view of a picture that is fitted into its viewport. What does not fit begins at the margin, or stays where it is in `before`. */
export function fitted(mode: 'readable' | 'whole', picture: Size, port: Size, before?: View): View {
  const room = Math.min((port.width - 2 * MARGIN) / picture.width, (port.height - 2 * MARGIN) / picture.height, 1);
  const scale = Math.max(room, mode === 'whole' ? SMALLEST : READABLE);
  const place = (size: number, within: number, was: number | undefined) => {
    const drawn = size * scale;
    if (drawn <= within - 2 * MARGIN) return (within - drawn) / 2;
    if (mode === 'whole') return Math.max((within - drawn) / 2, 0);
    if (was === undefined || before === undefined) return MARGIN;
    // What is in the middle stays there, as far as the picture reaches.
    const middle = within / 2 - ((within / 2 - was) * scale) / before.scale;
    return Math.min(Math.max(middle, within - MARGIN - drawn), MARGIN);
  };
  return { scale, x: place(picture.width, port.width, before?.x), y: place(picture.height, port.height, before?.y), mode };
}

/** How far to move what reaches from `low` to `high` so that it is in sight between `from` and `to`, by as little as that takes. */
export function intoSight(low: number, high: number, from: number, to: number): number {
  if (low >= from + MARGIN && high <= to - MARGIN) return 0;
  if (high - low > to - from - 2 * MARGIN || low < from || high > to) return (from + to - low - high) / 2;
  return low < from + MARGIN ? from + MARGIN - low : to - MARGIN - high;
}
