/** What a change does to the edges of a diagram, as the two drawings tell. Pure. */

/** The words on the edges of a drawing, by Mermaid's id of the edge: `L_A_B_0`, or its own. */
export type Edges = ReadonlyMap<string, string>;

export interface TouchedEdges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Those that say something else, which are in both drawings. */
  readonly changed: readonly string[];
}

export function touchedEdges(before: Edges, after: Edges): TouchedEdges {
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: [...before].filter(([id, words]) => after.has(id) && after.get(id) !== words).map(([id]) => id),
  };
}
