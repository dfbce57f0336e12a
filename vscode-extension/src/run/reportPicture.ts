/** A run of the journal as a preview shows it. Pure. */
import type { BoxRun, Graph, NodeRun, RunPicture } from '../preview/protocol';
import { shownValues } from '../preview/values';
import { noteOf } from '../revisions/words';
import { casesOf } from './progress';
import { drawnFigures, isSetByPerson } from './texts/figures';
import { callOf, stoppedLoops } from './texts/loops';
import type { NodeReport, RunReport } from './protocol';

const STATES: Readonly<Record<string, NodeRun['state']>> = { finished: 'finished', reused: 'reused', failed: 'failed', skipped: 'skipped', unfinished: 'cancelled' };

/** A run of the journal as a preview shows it: of each node the last turn or item, of each Loop and Map how many there were. */
export function reportPicture(report: RunReport, revised?: Graph): RunPicture {
  const nodes = new Map<string, NodeRun>();
  const rounds = new Map<string, Set<number>>();
  const visits = new Map<string, NodeReport[]>();
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
    const own = visits.get(node.id) ?? [];
    visits.set(node.id, own);
    own.push(node);
    if (state !== undefined) nodes.set(node.id, { state: state === 'cancelled' && report.status === 'running' ? 'running' : state === 'cancelled' && report.status === 'waiting' && node.operator === 'Human' ? 'asking' : state, detail: detailOf(node) });
  }
  for (const [id, own] of visits) {
    const node = nodes.get(id);
    if (node !== undefined) nodes.set(id, { ...node, ...gaveOf(own) });
  }
  const stopped = stoppedLoops(report);
  const boxes = [...rounds].map(([box, own]): [string, BoxRun] => [box, { begun: own.size, ended: own.size, running: false, stopped: stopped.get(box) }]);
  const last = report.revisions?.findLast(({ state }) => state === 'applied');
  const revision = last === undefined ? undefined : noteOf({ ...last, reason: last.reason ?? '' });
  return { run: report.run, isOver: report.status !== 'running', text: report.text ?? undefined, revised, revision, nodes, boxes: new Map(boxes) };
}

/** What a node gave in the turns and items that it ran in, and which cases it chose. */
function gaveOf(visits: readonly NodeReport[]): Pick<NodeRun, 'case' | 'cases' | 'values' | 'times'> {
  const chosen = visits.map(({ choice }) => ({ case: choice ?? undefined }));
  const last = chosen.findLast((one) => one.case !== undefined)?.case;
  const gave = visits.filter(({ outputs }) => outputs !== null && Object.keys(outputs).length > 0);
  const values = shownValues(gave.at(-1)?.outputs);
  return { ...(last === undefined ? {} : { case: last }), ...casesOf(chosen), ...(values === undefined ? {} : { values, times: gave.length }) };
}

function detailOf(node: NodeReport): string {
  if (node.error !== null) return node.error;
  return [isSetByPerson(node.sources) ? 'set by a person' : '', drawnFigures(node.usage, node.seconds)].filter((part) => part !== '').join(' · ');
}
