/** A run of the journal as a preview shows it. Pure. */
import type { BoxRun, Graph, NodeRun, RunPicture } from '../preview/protocol';
import { noteOf } from '../revisions/words';
import { drawnFigures, isSetByPerson } from './texts/figures';
import { callOf, stoppedLoops } from './texts/loops';
import type { NodeReport, RunReport } from './protocol';

const STATES: Readonly<Record<string, NodeRun['state']>> = { finished: 'finished', reused: 'reused', failed: 'failed', skipped: 'skipped', unfinished: 'cancelled' };

/** A run of the journal as a preview shows it: of each node the last turn or item, of each Loop and Map how many there were. */
export function reportPicture(report: RunReport, revised?: Graph): RunPicture {
  const nodes = new Map<string, NodeRun>();
  const rounds = new Map<string, Set<number>>();
  for (const node of report.nodes) {
    const call = callOf(node.path);
    if (call !== undefined) {
      // It is no node of the workflow; its Call is, which asks while it does.
      if (report.status === 'waiting' && node.status === 'unfinished' && node.operator === 'Human') nodes.set(call.node, { state: 'asking' });
      continue;
    }
    for (const [, box, number] of node.path.matchAll(/(?:^|\/)([^/[\]]+)\[(\d+)\]/g)) {
      const own = rounds.get(decodeURIComponent(box ?? '')) ?? new Set<number>();
      rounds.set(decodeURIComponent(box ?? ''), own.add(Number(number)));
    }
    const state = STATES[node.status];
    if (state !== undefined) nodes.set(node.id, { state: state === 'cancelled' && report.status === 'running' ? 'running' : state === 'cancelled' && report.status === 'waiting' && node.operator === 'Human' ? 'asking' : state, detail: detailOf(node) });
  }
  const stopped = stoppedLoops(report);
  const boxes = [...rounds].map(([box, own]): [string, BoxRun] => [box, { begun: own.size, ended: own.size, running: false, stopped: stopped.get(box) }]);
  const last = report.revisions?.findLast(({ state }) => state === 'applied');
  const revision = last === undefined ? undefined : noteOf({ ...last, reason: last.reason ?? '' });
  return { run: report.run, isOver: report.status !== 'running', text: report.text ?? undefined, revised, revision, nodes, boxes: new Map(boxes) };
}

function detailOf(node: NodeReport): string {
  if (node.error !== null) return node.error;
  return [isSetByPerson(node.sources) ? 'set by a person' : '', drawnFigures(node.usage, node.seconds)].filter((part) => part !== '').join(' · ');
}
