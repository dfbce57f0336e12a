/** Which step of a run the picture follows. Pure. */
import type { NodeRun, RunState } from '../../src/preview/protocol';

const ACTIVE: readonly RunState[] = ['asking', 'running'];

/**
 * The step to look at now: one that asks a person, else one that runs. The one that was looked at stays while it does the same; else it
 * is one that began since `before`. While nothing runs it is undefined; after the run it is what failed or was stopped, else one of `ends`, the
 * workflow's outputs, else what ended last.
 */
export function activeStep(
  run: ReadonlyMap<string, NodeRun>,
  before: ReadonlyMap<string, NodeRun>,
  current: string | undefined,
  isOver: boolean,
  ends: ReadonlySet<string>,
): string | undefined {
  for (const state of ACTIVE) {
    const ids = [...run].filter(([, node]) => node.state === state).map(([id]) => id);
    if (ids.length === 0) continue;
    if (current !== undefined && ids.includes(current)) return current;
    return ids.findLast((id) => before.get(id)?.state !== state) ?? ids.at(-1);
  }
  if (!isOver || run.size === 0) return undefined;
  const ended = [...run];
  const wrong = ended.find(([, { state }]) => state === 'failed') ?? ended.find(([, { state }]) => state === 'cancelled');
  const done = ended.filter(([, { state }]) => state === 'finished' || state === 'reused');
  return (wrong ?? done.find(([id]) => ends.has(id)) ?? done.at(-1))?.[0];
}
