/** Which results of a run the text has moved away from since. Pure. */
import type { Graph, GraphNode, NodeRun } from './protocol';

type Workflow = Pick<Graph, 'text' | 'nodes' | 'edges'>;

/** The states of a run on the workflow `then`, seen with the workflow `now`: what was finished of nodes that changed, and of those after them, is stale. */
export function withStale(run: ReadonlyMap<string, NodeRun>, then: Workflow, now: Workflow): ReadonlyMap<string, NodeRun> {
  const changed = changedNodes(then, now);
  if (changed.size === 0) return run;
  return new Map([...run].map(([id, node]) => {
    const isStale = changed.has(id) && (node.state === 'finished' || node.state === 'reused');
    return [id, isStale ? { ...node, state: 'stale' } : node];
  }));
}

/** The nodes that are another operator, say something else or are fed differently, and those that work on what comes from them. */
export function changedNodes(then: Workflow, now: Workflow): ReadonlySet<string> {
  const before = definitions(then);
  // Types, operators and prompts are in the front matter, where it is not looked at which node uses which.
  const isSameHead = head(then.text) === head(now.text);
  const changed = new Set<string>();
  for (const [id, { node, words }] of definitions(now)) {
    const works = node.kind === 'operator' || node.kind === 'decision';
    if (before.get(id)?.words !== words || (works && !isSameHead)) changed.add(id);
  }
  const after = new Map<string, string[]>();
  for (const { source, target } of now.edges) after.set(source, [...(after.get(source) ?? []), target]);
  // A set goes on through what is added on the way.
  for (const id of changed) for (const next of after.get(id) ?? []) changed.add(next);
  return changed;
}

function definitions({ nodes, edges }: Workflow): ReadonlyMap<string, { readonly node: GraphNode; readonly words: string }> {
  const fed = new Map<string, string[]>();
  for (const { source, target, output, port, type, case: chosen, word, label } of edges) {
    fed.set(target, [...(fed.get(target) ?? []), JSON.stringify([source, output, port, type, chosen, word, label])]);
  }
  const words = (node: GraphNode) => JSON.stringify([node.kind, node.operator, node.label, (fed.get(node.id) ?? []).sort()]);
  return new Map(nodes.map((node) => [node.id, { node, words: words(node) }]));
}

/** The front matter, but for the title. */
function head(text: string): string {
  return (/^\s*---\r?\n.*?\n---/s.exec(text)?.[0] ?? '').replace(/^title:.*$/m, '');
}
