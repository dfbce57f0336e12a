/** Flowcharts that are not drawn until somebody insists: their pictures take minutes, and more memory than a page should. */
import type { Graph } from '../../src/preview/protocol';

/** Nodes, edges and subgraphs, and characters of text, up to which the preview draws without being asked. */
export const MOST_PARTS = 4000;
export const MOST_CHARACTERS = 400_000;

/** Why a flowchart is too large to be drawn unasked, in one sentence; undefined where it is not. */
export function tooLarge({ nodes, edges, subgraphs, text }: Pick<Graph, 'nodes' | 'edges' | 'subgraphs' | 'text'>): string | undefined {
  const parts = nodes.length + edges.length + subgraphs.length;
  if (parts > MOST_PARTS) return sentence(parts, 'nodes, edges and subgraphs', MOST_PARTS);
  return tooLong(text);
}

/** The same of a text of which nothing else is known. */
export function tooLong(text: string): string | undefined {
  return text.length > MOST_CHARACTERS ? sentence(text.length, 'characters', MOST_CHARACTERS) : undefined;
}

function sentence(count: number, what: string, most: number): string {
  return `The flowchart has ${count.toLocaleString('en')} ${what}; above ${most.toLocaleString('en')}, drawing it may take minutes.`;
}
