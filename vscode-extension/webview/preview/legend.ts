import type { NodeRun, RunState } from '../../src/preview/protocol';
import { element } from './dom';
import { MARKS, icon } from './icons';
import { STATES } from './words';

const ORDER: readonly RunState[] = ['waiting', 'new', 'reset', 'running', 'kept', 'finished', 'reused', 'stale', 'failed', 'cancelled', 'skipped', 'gone'];

/** How many nodes of a run are in which state; hidden where there is no run. */
export class Legend {
  readonly element = element('div', { class: 'legend', role: 'status', 'aria-label': 'Run', hidden: '' });

  show(run: ReadonlyMap<string, NodeRun>): void {
    const counts = new Map<RunState, number>();
    for (const { state } of run.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
    this.element.hidden = run.size === 0;
    this.element.replaceChildren(
      ...ORDER.filter((state) => counts.has(state)).map((state) =>
        element('span', { class: `item ${state}` }, icon(MARKS[state]), `${counts.get(state)} ${STATES[state]}`),
      ),
    );
  }
}
