/** Loops that were stopped although they wanted another turn, in words. Pure. */
import type { StoppedLoop } from '../../preview/protocol';
import type { LoopEnd, RunEvent, RunReport } from '../protocol';

type How = Pick<LoopEnd, 'turns' | 'why' | 'replaced'>;

/** That a Loop stopped, and why: a sentence. */
export function stoppedText(path: string, { turns, why }: Pick<StoppedLoop, 'turns' | 'why'>): string {
  return `Loop ${path} stopped after ${turns} turn${turns === 1 ? '' : 's'}: its ${why === 'budget' ? 'budget was used up' : 'turns ran out'}.`;
}

/** The same of an event, where it tells of that. */
export function stoppedLine({ event, path, turns = 0, why = '', stopped }: RunEvent): string | undefined {
  return event === 'loop_ended' && stopped === true ? stoppedText(path, { turns, why }) : undefined;
}

/** That these Loops were stopped, as the end of a sentence. */
export function exhaustedText([first = '', ...more]: readonly string[]): string {
  const others = more.length === 0 ? '' : ` and ${more.length} more`;
  return `the turns or the budget of Loop ${first}${others} ran out.`;
}

export function stoppedLoop({ turns, why, replaced = [] }: How): StoppedLoop {
  return { turns, why, taken: replaced.map(({ at, taken }) => ({ at, case: taken })) };
}

/** A sentence on each Loop of a run that stopped although it wanted another turn. */
export function stoppedTexts({ loops = [], exhausted = [] }: Pick<RunReport, 'loops' | 'exhausted'>): string[] {
  const named = new Set(exhausted);
  return loops.filter(({ path }) => named.has(path)).map((loop) => stoppedText(loop.path, loop));
}

/** The Loops of the workflow itself that were stopped, by their ids; those of called files are in none of its boxes. */
export function stoppedLoops({ loops = [], exhausted = [] }: Pick<RunReport, 'loops' | 'exhausted'>): Map<string, StoppedLoop> {
  const named = new Set(exhausted);
  return new Map(loops.flatMap((loop) => {
    const id = named.has(loop.path) ? loopOf(loop.path) : undefined;
    return id === undefined ? [] : [[id, stoppedLoop(loop)]];
  }));
}

/** The id of the Loop with this path; undefined where a Call is around it. */
export function loopOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts.slice(0, -1).every((part) => part.endsWith(']')) ? unescaped(parts.at(-1) ?? '') : undefined;
}

/** The outermost Call that a frame lies in, and the frame that this is in; undefined of a frame of the workflow itself. */
export function callOf(path: string): { readonly node: string; readonly path: string } | undefined {
  const parts = path === '' ? [] : path.split('/');
  const at = parts.findIndex((part) => !part.endsWith(']'));
  return at < 0 ? undefined : { node: unescaped(/^[^!#]*/.exec(parts[at] ?? '')?.[0] ?? ''), path: parts.slice(0, at).join('/') };
}

/** The path of a frame of a called file as that file has it: what is around it tells frames apart, and is none of its Loops. */
export function pathInside(path: string): string {
  const parts = path.split('/');
  const at = parts.findLastIndex((part) => !part.endsWith(']')) + 1;
  // Its end marks a part that is no Call, and without a number in brackets it is no turn or item either.
  const around = parts.slice(0, at).map((part) => `${part.replaceAll('[', '(').replaceAll(']', ')')}]`);
  return [...around, ...parts.slice(at)].join('/');
}

/** A part of a path as the id that it stands for (`segment` in merrow_runtime/visit.py). */
export function unescaped(part: string): string {
  return part.replaceAll(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
