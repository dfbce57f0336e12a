import type { BoxRun, NodeRun, RunState } from '../../src/preview/protocol';
import { element } from './dom';
import { MARKS, icon } from './icons';
import { STATES } from './words';

const ORDER: readonly RunState[] = ['waiting', 'new', 'reset', 'running', 'asking', 'kept', 'finished', 'reused', 'stale', 'failed', 'cancelled', 'skipped', 'gone'];

/** How many nodes of a run are in which state; hidden where there is no run. */
export class Legend {
  readonly element = element('div', { class: 'legend', role: 'status', 'aria-label': 'Run', hidden: '' });

  show(run: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun> = new Map()): void {
    const counts = new Map<RunState, number>();
    for (const { state } of run.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
    const stopped = [...boxes.values()].filter((box) => box.stopped !== undefined).length;
    this.element.hidden = run.size === 0;
    this.element.replaceChildren(
      ...ORDER.filter((state) => counts.has(state)).map((state) =>
        element('span', { class: `item ${state}` }, icon(MARKS[state]), `${counts.get(state)} ${STATES[state]}`),
      ),
      ...(stopped === 0 ? [] : [element('span', { class: 'item stopped' }, icon(MARKS.warning), `${stopped} Loop${stopped === 1 ? '' : 's'} stopped`)]),
    );
  }
}
