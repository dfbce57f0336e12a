/** From places in the text to parts of the picture, and back. Pure. */
import type { Graph, Part, Position, Range } from './protocol';

function before(one: Position, other: Position): boolean {
  return one.line < other.line || (one.line === other.line && one.character < other.character);
}

function holds(range: Range, position: Position): boolean {
  return !before(position, range.start) && !before(range.end, position);
}

/** Where `position` is beside a range on its line, in characters. */
function away(range: Range, position: Position): number {
  if (range.start.line > position.line || range.end.line < position.line) return Infinity;
  if (holds(range, position)) return 0;
  const start = range.start.line === position.line ? range.start.character - position.character : 0;
  const end = range.end.line === position.line ? position.character - range.end.character : 0;
  return Math.max(start, end, 0);
}

/**
 * The part that a cursor is in: the node or edge that is written there; else the nearest node of the line, else its nearest
 * edge or subgraph.
 */
export function partAt(graph: Graph, position: Position): Part | undefined {
  let best: { part: Part; rank: number } | undefined;
  const offer = (kind: Part['kind'], id: string, ranges: readonly Range[], handicap: number) => {
    for (const range of ranges) {
      const distance = away(range, position);
      if (distance === Infinity) continue;
      const rank = distance === 0 ? handicap / 10 : distance + handicap * 1000;
      if (best === undefined || rank < best.rank) best = { part: { kind, id }, rank };
    }
  };
  for (const node of graph.nodes) offer('node', node.id, node.places, 0);
  for (const edge of graph.edges) offer('edge', edge.id, [edge.range], 1);
  for (const group of graph.subgraphs) offer('subgraph', group.id, [group.range], 2);
  return best?.part;
}

/** Where a part is written. */
export function placeOf(graph: Graph, part: Part): Range | undefined {
  const parts = { node: graph.nodes, edge: graph.edges, subgraph: graph.subgraphs }[part.kind];
  const found = parts.find(({ id }) => id === part.id)?.range;
  // The picture may draw a subgraph that is named like a node as either.
  return found ?? (part.kind === 'node' ? graph.subgraphs.find(({ id }) => id === part.id)?.range : undefined);
}
