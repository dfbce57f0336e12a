/** Safe mutations as the server lists them, and as proposals. Pure. */
import type { Edit, Proposal } from './proposal';

interface Node {
  readonly id: string;
}

interface Edge {
  readonly source: string;
  readonly target: string;
}

/** A safe mutation in the answer to `merrow.mutations`. */
export interface Move {
  readonly id: string;
  readonly operator: string;
  readonly title: string;
  readonly effect: string;
  readonly edits: readonly Edit[];
  readonly created?: Proposal['created'];
  readonly delta: Delta;
}

/** How a change differs from the workflow as it is. */
export interface Delta {
  readonly addedNodes: readonly Node[];
  readonly removedNodes: readonly Node[];
  readonly changedNodes: readonly { readonly before: Node; readonly after: Node }[];
  readonly addedEdges: readonly Edge[];
  readonly removedEdges: readonly Edge[];
}

const KINDS: Readonly<Record<string, string>> = {
  substitution: 'Replace a node',
  addition: 'Insert a node',
  rewiring: 'Lead an edge elsewhere',
  deletion: 'Remove a node',
  subgraph: 'Patterns',
  suggestion: 'Best first, as the model judges',
};

/** What moves of an operator are listed under. */
export function kindOf({ operator }: Move): string {
  return KINDS[operator] ?? operator;
}

/** A page of the answer to `merrow.mutations`: `cursor` asks for the next one; how many there are in all, as far as is known. */
export interface Page {
  readonly moves: readonly Move[];
  readonly cursor: string | null;
  readonly total: { readonly least: number; readonly most: number | null };
}

/** How many there are, in words. */
export function totalText({ least, most }: Page['total']): string {
  if (most === least) return `${least}`;
  return most === null ? `${least} or more` : `${least} to ${most}`;
}

export function proposalOf(move: Move, uri: string, version: number, doors: Pick<Proposal, 'pictures' | 'runBoth'>): Proposal {
  const { delta } = move;
  const [added, removed] = [delta.addedNodes.map(({ id }) => id), delta.removedNodes.map(({ id }) => id)];
  const touched = new Set(delta.changedNodes.map(({ after }) => after.id));
  // A move that is about edges alone is seen at the nodes that read again.
  if (added.length + removed.length + touched.size === 0) {
    for (const { source, target } of [...delta.addedEdges, ...delta.removedEdges]) touched.add(source).add(target);
  }
  return {
    title: move.title,
    kind: kindOf(move),
    effect: move.effect,
    uri,
    version,
    edits: move.edits,
    added,
    removed,
    changed: [...touched],
    created: move.created ?? [],
    ...doors,
  };
}
