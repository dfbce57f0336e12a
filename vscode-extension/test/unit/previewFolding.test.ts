import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Finding, Graph, GraphEdge, GraphNode, NodeRun } from '../../src/preview/protocol';
import { equalBranches, folded, foldedRun, groupTitle } from '../../webview/preview/folding';
import { nodeWords, spoken } from '../../webview/preview/words';

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({ id, kind: 'operator', operator: 'Custom', label: `Custom<br/>(role: ${id})`, doing: 'solve', subgraph: null, diagnostics: [], ...more }) as unknown as GraphNode;
const edge = (source: string, target: string, more: Partial<GraphEdge> = {}): GraphEdge =>
  ({ id: `L_${source}_${target}_0`, source, target, output: null, port: null, case: null, word: null, drawn: true, diagnostics: [], ...more }) as unknown as GraphEdge;

/** So many equal steps between a problem and a vote, each by a port of its own. */
function parallel(size: number, change: (id: string) => Partial<GraphNode> = () => ({})): Graph {
  const ids = Array.from({ length: size }, (_, number) => `S${number}`);
  return {
    workflow: true,
    nodes: [node('IN', { kind: 'input', doing: null }), ...ids.map((id) => node(id, change(id))), node('VOTE', { doing: 'vote', remembers: ids })],
    edges: ids.flatMap((id, number) => [edge('IN', id, { port: `in${number}` }), edge(id, 'VOTE', { port: `solution${number}` })]),
    subgraphs: [],
  } as unknown as Graph;
}

describe('Equal steps side by side', () => {
  it('are a group from three on, whatever their ports', () => {
    assert.deepEqual(equalBranches(parallel(3)), [[['S0', 'S1', 'S2']]]);
    assert.deepEqual(equalBranches(parallel(2)), []);
    assert.equal(equalBranches(parallel(24))[0]?.[0]?.length, 24);
  });

  it('are no group where they do something else, are elsewhere, or are fed or read differently', () => {
    const three = (graph: Graph) => equalBranches(graph);
    assert.deepEqual(three(parallel(3, (id) => (id === 'S1' ? { doing: 'other' } : {}))), []);
    assert.deepEqual(three(parallel(3, (id) => (id === 'S1' ? { subgraph: 'BOX' } : {}))), []);
    assert.deepEqual(three(parallel(3, (id) => (id === 'S1' ? { doing: null } : {}))), []);
    assert.deepEqual(three(parallel(3, () => ({ doing: undefined }) as never)), []);
    const with_ = (more: GraphEdge) => { const graph = parallel(3); return { ...graph, edges: [...graph.edges, more] }; };
    assert.deepEqual(three(with_(edge('S1', 'OTHER'))), []);
    assert.deepEqual(three(with_(edge('OTHER', 'S1'))), []);
    const changed = (more: Partial<GraphEdge>) => { const graph = parallel(3); return { ...graph, edges: graph.edges.map((one) => (one.source === 'S1' ? { ...one, ...more } : one)) }; };
    assert.deepEqual(three(changed({ case: 'yes' })), []);
    assert.deepEqual(three(changed({ word: 'over' })), []);
    assert.deepEqual(three(changed({ drawn: false })), []);
  });

  it('may each come back to themselves', () => {
    const graph = parallel(3);
    const again = ['S0', 'S1', 'S2'].map((id) => edge(id, id, { word: 'again' }));
    assert.equal(equalBranches({ ...graph, edges: [...graph.edges, ...again] }).length, 1);
    assert.deepEqual(equalBranches({ ...graph, edges: [...graph.edges, ...again.slice(1)] }), []);
  });

  it('may be branches of several steps, which are groups together', () => {
    const [solve, check, mend] = ['S', 'C', 'M'].map((letter) => Array.from({ length: 3 }, (_, number) => `${letter}${number}`)) as [string[], string[], string[]];
    const steps = (ids: string[], doing: string) => ids.map((id) => node(id, { doing }));
    const nodes = [node('IN', { kind: 'input', doing: null }), ...steps(solve, 'solve'), ...steps(check, 'check'), ...steps(mend, 'mend'), node('VOTE', { doing: 'vote' })];
    const edges = solve.flatMap((id, number) => [edge('IN', id), edge(id, `C${number}`), edge(`C${number}`, `M${number}`, { port: `in${number}` }), edge(`M${number}`, 'VOTE')]);
    const graph = { workflow: true, nodes, edges, subgraphs: [] } as unknown as Graph;
    assert.deepEqual(equalBranches(graph), [[solve, check, mend]]);
    const now = folded(graph, new Set());
    assert.deepEqual(now.graph.nodes.map(({ id }) => id), ['IN', 'S0', 'C0', 'M0', 'VOTE']);
    assert.deepEqual(now.graph.edges.map(({ id }) => id), ['L_IN_S0_0', 'L_S0_C0_0', 'L_C0_M0_0', 'L_M0_VOTE_0']);
    assert.equal(now.edge.get('L_C2_M2_0'), 'L_C0_M0_0');
    assert.equal(now.edge.size, 8);
    // One step of them opens all, or arrows would lead nowhere.
    assert.equal(folded(graph, new Set(['C0'])).folds.size, 0);
    const changed = (more: Partial<GraphEdge>) => ({ ...graph, edges: edges.map((one) => (one.source === 'C1' ? { ...one, ...more } : one)) });
    assert.deepEqual(equalBranches(changed({ case: 'yes' })), []);
    assert.deepEqual(equalBranches({ ...graph, edges: [...edges, edge('S1', 'VOTE')] }), []);
    assert.deepEqual(equalBranches({ ...graph, edges: [...edges, edge('S1', 'C2')] }), []);
    assert.deepEqual(equalBranches({ ...graph, nodes: nodes.map((one) => (one.id === 'M2' ? { ...one, doing: 'other' } : one)) }), []);
    assert.deepEqual(equalBranches({ ...graph, nodes: nodes.map((one) => (one.id === 'M2' ? { ...one, subgraph: 'BOX' } : one)) }), []);
    assert.equal(equalBranches({ ...graph, edges: [...edges, ...solve.map((id) => edge(id, id, { word: 'again' }))] }).length, 1);
    const back = (...pairs: [string, string][]) => equalBranches({ ...graph, edges: [...edges, ...pairs.map(([from, to]) => edge(from, to, { word: 'again' }))] });
    assert.deepEqual(back(['M0', 'S0'], ['M1', 'S1'], ['M2', 'S2']), [[solve, check, mend]]);
    assert.deepEqual(back(['M0', 'S0'], ['M1', 'S1'], ['M2', 'M2']), []);
    // Where each step feeds all of the next ones, those begin branches of their own.
    const all = [...solve.flatMap((id) => check.map((other) => edge(id, other))), ...edges.filter(({ source }) => !source.startsWith('S'))];
    assert.deepEqual(equalBranches({ ...graph, edges: all }), [[solve], [check, mend]]);
  });

  it('are drawn as the first of them, with all that is found about any', () => {
    const finding = (code: string): Finding => ({ code, severity: 'warning', message: code }) as Finding;
    const graph = parallel(4, (id) => ({ diagnostics: id === 'S0' || id === 'S2' ? [finding(`of ${id}`)] : [] }));
    const edges = graph.edges.map((one) => (one.source === 'S3' ? { ...one, diagnostics: [finding('of an edge')] } : one));
    const now = folded({ ...graph, edges }, new Set());
    assert.deepEqual(now.graph.nodes.map(({ id }) => id), ['IN', 'S0', 'VOTE']);
    assert.deepEqual(now.graph.edges.map(({ id }) => id), ['L_IN_S0_0', 'L_S0_VOTE_0']);
    assert.deepEqual(now.graph.nodes[1]?.diagnostics.map(({ code }) => code).sort(), ['of S0', 'of S2', 'of an edge']);
    assert.deepEqual(now.graph.nodes[2]?.remembers, ['S0']);
    assert.deepEqual([...now.node], [['S1', 'S0'], ['S2', 'S0'], ['S3', 'S0']]);
    assert.equal(now.edge.get('L_S3_VOTE_0'), 'L_S0_VOTE_0');
    assert.equal(now.edge.get('L_IN_S2_0'), 'L_IN_S0_0');
  });

  it('are drawn one by one where their group is open', () => {
    const now = folded(parallel(3), new Set(['S0']));
    assert.equal(now.graph.nodes.length, 5);
    assert.equal(now.folds.size, 0);
  });

  it('say how many they are, by a title without their numbers', () => {
    const graph = parallel(3, (id) => ({ title: `solver_${id.slice(1)}<b>` }));
    const now = folded(graph, new Set());
    const { labels, captions } = nodeWords(now.graph, now.folds, graph.nodes);
    assert.equal(labels['S0'], 'solver_0&lt;b&gt; <b>× 3</b>');
    assert.ok(captions['S0']?.includes('Custom') && !captions['S0'].includes('node-id'));
    assert.equal(groupTitle(['solver_1', 'solver_2']), 'solver');
    assert.equal(groupTitle(['solver_1', 'solver_1']), 'solver_1');
    assert.equal(groupTitle(['1', '2']), '1');
    assert.match(spoken(node('S0'), undefined, ['S0', 'S1', 'S2']), /^3 equal steps: S0, S1, S2/);
  });
});

describe('A run of equal steps', () => {
  const { folds, node: hidden } = folded(parallel(4), new Set());
  const run = (...states: NodeRun['state'][]) => foldedRun(new Map([['IN', { state: 'finished' }], ...states.map((state, number): [string, NodeRun] => [`S${number}`, { state, detail: 'own' }])]), { folds, node: hidden });

  it('tells how many are done', () => {
    assert.deepEqual(run('finished', 'running', 'waiting', 'waiting').get('S0'), { state: 'running', detail: '1/4' });
    assert.deepEqual(run('finished', 'finished', 'reused', 'finished').get('S0'), { state: 'finished', detail: '4/4' });
    assert.deepEqual(run('waiting', 'waiting', 'waiting', 'waiting').get('S0'), { state: 'waiting', detail: '0/4' });
    assert.deepEqual([...run('finished', 'finished', 'finished', 'finished').keys()], ['IN', 'S0']);
  });

  it('runs while some wait and others have ended, and counts those that failed', () => {
    assert.deepEqual(run('finished', 'waiting', 'waiting', 'waiting').get('S0'), { state: 'running', detail: '1/4' });
    assert.deepEqual(run('failed', 'finished', 'waiting', 'waiting').get('S0'), { state: 'running', detail: '2/4 · 1 failed' });
    assert.deepEqual(run('failed', 'finished', 'failed', 'finished').get('S0'), { state: 'failed', detail: '4/4 · 2 failed' });
    assert.equal(run('asking', 'running', 'failed', 'waiting').get('S0')?.state, 'asking');
    assert.equal(run('skipped', 'skipped', 'skipped', 'skipped').get('S0')?.state, 'skipped');
  });

  it('is none where nothing is known of any', () => {
    assert.ok(!run().has('S0'));
  });
});
