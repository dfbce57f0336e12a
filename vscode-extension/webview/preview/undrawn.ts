/** Why a flowchart is not drawn, in a sentence. Pure. */
import type { Graph } from '../../src/preview/protocol';

/** Why there is nothing to draw, where that is known without trying. */
export function whyNot(graph: Graph): string | undefined {
  if (graph.kind === 'other') return 'Merrow draws flowcharts; this is a diagram of another kind.';
  if (graph.nodes.length > 0) return undefined;
  return graph.kind === 'unknown' ? 'There is no flowchart here yet.' : 'The flowchart has no nodes yet.';
}

/** Where the text is broken, in the server's words, which are better than Mermaid's. */
export function brokenWords(graph: Graph | undefined, problem: string): string {
  const found = [graph, ...(graph?.nodes ?? []), ...(graph?.edges ?? [])]
    .flatMap((part) => part?.diagnostics ?? [])
    .find(({ code, severity }) => code.startsWith('MW0') && severity === 'error');
  if (found !== undefined) return `Line ${found.range.start.line + 1}: ${found.message}`;
  // Mermaid waits for the images of nodes, and the page's policy lets none in.
  if (problem.includes('source image cannot be decoded')) return "The flowchart can't be drawn: a node shows an image from another address, and the preview loads none.";
  return `The flowchart can't be drawn: ${problem.replace(/^Error: /, '').split('\n', 1)[0] ?? ''}.`.replace(/\.\.$/, '.');
}
