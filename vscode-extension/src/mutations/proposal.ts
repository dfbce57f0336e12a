/** Changes of a workflow that somebody may want, whoever thought of them. Pure but for its types. */
import type { Position, Range } from '../preview/protocol';

export interface Edit {
  readonly range: Range;
  readonly newText: string;
}

/** Nodes that a change is about, by id. */
export interface Touched {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export interface Proposal extends Touched {
  readonly title: string;
  /** What proposals of its kind are listed under. */
  readonly kind: string;
  /** How the workflow changes, in a sentence. */
  readonly effect: string;
  /** What else there is to say of it, line by line; plain text. */
  readonly details?: readonly string[];
  /** The document, and the version of it that the edits are for. */
  readonly uri: string;
  readonly version: number;
  readonly edits: readonly Edit[];
  /** Files that are written with the edits; none of them is there yet. */
  readonly created: readonly { readonly uri: string; readonly text: string }[];
  /** Run the workflow as it is and as it would be. */
  runBoth?(): unknown;
  /** The diagram's text as it is and as it would be. Rejects with a sentence. */
  pictures(): Promise<{ readonly before: string; readonly after: string }>;
}

/** A text with edits made, which are all about the text as it was. */
export function edited(text: string, edits: readonly Edit[]): string {
  const starts = [0];
  for (const { index } of text.matchAll(/\r\n|\r|\n/g)) starts.push(text.startsWith('\r\n', index) ? index + 2 : index + 1);
  const offset = ({ line, character }: Position) => Math.min((starts[line] ?? text.length) + character, text.length);
  const places = edits
    .map(({ range, newText }, order) => ({ start: offset(range.start), end: offset(range.end), newText, order }))
    .sort((one, other) => one.start - other.start || one.end - other.end || one.order - other.order);
  let [made, last] = ['', 0];
  for (const { start, end, newText } of places) {
    made += text.slice(last, start) + newText;
    last = end;
  }
  return made + text.slice(last);
}

/** Proposals by kind, kinds in the order of their first. */
export function byKind<One extends { readonly kind: string }>(proposals: readonly One[]): ReadonlyMap<string, readonly One[]> {
  const groups = new Map<string, One[]>();
  for (const proposal of proposals) {
    const group = groups.get(proposal.kind);
    if (group === undefined) groups.set(proposal.kind, [proposal]);
    else group.push(proposal);
  }
  return groups;
}

/** To the page that shows the two pictures. */
export interface ShowPictures extends Touched {
  readonly title: string;
  readonly effect: string;
  readonly details: readonly string[];
  /** Which of how many, from 1. */
  readonly number: number;
  readonly count: number;
  readonly before: string;
  readonly after: string;
  /** Whether it can be run beside the workflow as it is. */
  readonly canRun: boolean;
  /** Why there are no pictures. */
  readonly problem?: string;
}

export type FromPictures = 'ready' | 'apply' | 'next' | 'previous' | 'runBoth' | 'cancel';
