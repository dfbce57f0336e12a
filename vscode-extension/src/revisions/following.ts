import type { Graph } from '../preview/protocol';
import type { RevisionReport } from '../run/server';

/** What a revision made of a run's workflow, and the same with what is gone; undefined where it can't be drawn. */
export function drawingsOf({ drawing, ghosts, text, diagram }: RevisionReport): { readonly now: Graph; readonly withGone: Graph } | undefined {
  if (drawing === null || text === null) return undefined;
  const withGone = { ...drawing, diagram };
  return { withGone, now: { ...withGone, text, nodes: drawing.nodes.filter(({ id }) => !ghosts.includes(id)) } };
}
