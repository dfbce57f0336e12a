/** Suggestions of a model as the server answers them, and as proposals. Pure. */
import { proposalOf, type Delta } from './moves';
import type { Edit, Proposal } from './proposal';

interface Bounds {
  readonly least: number;
  /** Null where it is not known. */
  readonly most: number | null;
}

/** What a run of a workflow may use. */
export interface RunBounds {
  readonly calls: Bounds;
  readonly cost_usd: Bounds;
}

/** A suggestion in the answer to `merrow.suggest`. Titles and reasons are a model's: plain text. */
export interface Suggestion {
  readonly id: string;
  readonly title: string;
  readonly reason: string;
  readonly effect: string;
  readonly scores: { readonly total: number; readonly unsure: boolean; readonly reason: string } | null;
  readonly run: RunBounds | null;
  readonly edits: readonly Edit[];
  readonly delta: Delta;
  readonly diagramText: string;
}

/** The answer to `merrow.suggest`. */
export interface Suggestions {
  readonly suggestions: readonly Suggestion[];
  readonly run: RunBounds | null;
  readonly valid: { readonly proposed: number; readonly valid_first: number; readonly never: number };
  readonly notices: readonly string[];
}

/** A suggestion among proposals; `now` is what a run of the workflow uses as it is. */
export function suggested(one: Suggestion, now: RunBounds | null, uri: string, version: number, pictures: Proposal['pictures']): Proposal {
  const proposal = proposalOf({ ...one, operator: 'suggestion' }, uri, version, { pictures });
  const touched = proposal.added.length + proposal.removed.length + proposal.changed.length === 0 ? promptsOf(one.effect) : proposal.changed;
  return { ...proposal, changed: touched, effect: `${one.effect} · ${scoreText(one.scores)}`, details: details(one, now) };
}

/** What is told of a suggestion below its title, line by line. */
function details({ reason, scores, run }: Suggestion, now: RunBounds | null): string[] {
  const said = [reason, `A run: ${runText(run)}; now ${runText(now)}.`];
  if (scores !== null && scores.reason !== '') said.push(`The judge: ${scores.reason}`);
  return said.filter((line) => line !== '');
}

/** `38.5 of 50, unsure`. */
export function scoreText(scores: Suggestion['scores']): string {
  return scores === null ? 'not judged' : `${scores.total.toFixed(1)} of 50${scores.unsure ? ', unsure' : ''}`;
}

/** `3 to 6 calls, at most about $0.0012`. */
export function runText(run: RunBounds | null): string {
  if (run === null) return 'calls unknown';
  const { calls, cost_usd: cost } = run;
  const most = calls.most === null ? 'unknown' : `${calls.most}`;
  const count = calls.most === calls.least ? most : `${calls.least} to ${most}`;
  const money = cost.most === null ? 'cost unknown' : cost.most === 0 ? '$0' : `at most about $${cost.most.toFixed(4)}`;
  return `${count} ${count === '1' ? 'call' : 'calls'}, ${money}`;
}

/** How many candidates of the model passed the checks, in a sentence. */
export function validText({ proposed, valid_first: first, never }: Suggestions['valid']): string {
  if (proposed === 0) return 'The model suggested nothing.';
  return `Of ${proposed} candidates ${first} were valid at the first try, ${proposed - never} after repair.`;
}

/** The nodes whose prompts or settings an effect tells of: changes that no edge or node shows. */
function promptsOf(effect: string): readonly string[] {
  return [...effect.matchAll(/(?:prompt of|(?:samples|temperature) [^;]* at) ([^\s;]+)/gi)].map(([, node = '']) => node);
}
