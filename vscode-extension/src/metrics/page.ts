/** The figures of a workflow as a page in Markdown. Pure. */

/** A part of the answer to `merrow.metrics`; what is not defined is null, and `undefined` says why. */
export interface Measures {
  readonly nodes: number;
  readonly edges: number;
  readonly depth: number | null;
  readonly width: number | null;
  readonly max_antichain: number | null;
  readonly p_avg: number | null;
  readonly c_dependency: number | null;
  readonly transitive_edges: readonly (readonly [string, string])[] | null;
  readonly critical_path: readonly string[] | null;
  readonly expected_completed: { readonly failure_probability: number; readonly product_formula: number | null; readonly all_ancestors_succeed: number | null } | null;
  readonly undefined: string | null;
}

/** The answer to `merrow.metrics`. */
export interface Metrics {
  readonly workflow: Measures | null;
  readonly graph: Measures;
  readonly promises: number;
  readonly calls: { readonly least: number; readonly most: number | null } | null;
}

/** Nodes of the path and implied edges that are shown. */
const LONGEST = 40;

export function metricsPage(name: string, { workflow, graph, promises, calls }: Metrics): string {
  const parts = workflow === null ? [graph] : [workflow, graph];
  const head = workflow === null ? ['Whole graph'] : ['Subtasks', 'Whole graph'];
  const row = (title: string, of: (part: Measures) => string) => `| ${title} | ${parts.map(of).join(' | ')} |`;
  const first = parts[0] ?? graph;
  const lines = [
    `# Figures of ${literal(name)}`,
    '',
    ...sentences(first, workflow !== null, calls, promises),
    '',
    `| | ${head.join(' | ')} |`,
    `|---|${head.map(() => '---:|').join('')}`,
    row('Nodes', ({ nodes }) => count(nodes)),
    row('Edges', ({ edges }) => count(edges)),
    row('Depth', ({ depth }) => count(depth)),
    row('Width', ({ width }) => count(width)),
    row('Largest antichain', ({ max_antichain }) => count(max_antichain)),
    row('Parallelism', ({ p_avg }) => figure(p_avg)),
    row('Dependency complexity', ({ c_dependency }) => figure(c_dependency)),
    row('Implied edges', ({ transitive_edges }) => count(transitive_edges?.length ?? null)),
    row('Expected to complete', (part) => figure(part.expected_completed?.all_ancestors_succeed ?? null)),
    '',
  ];
  const path = first.critical_path ?? [];
  if (path.length > 0) {
    const shown = path.slice(0, LONGEST).map(code).join(' → ');
    lines.push('## Longest path', '', `${shown}${path.length > LONGEST ? ` and ${path.length - LONGEST} more` : ''}`, '', 'No schedule is shorter than these nodes one after another.', '');
  }
  const implied = first.transitive_edges ?? [];
  if (implied.length > 0) {
    const more = implied.length > LONGEST ? [`- and ${implied.length - LONGEST} more`] : [];
    lines.push('## Implied edges', '', ...implied.slice(0, LONGEST).map(([from, to]) => `- ${code(from)} → ${code(to)}`), ...more, '', 'They carry data, so they are not superfluous.', '');
  }
  lines.push(
    '## What they mean',
    '',
    ...(workflow === null ? [] : ['- **Subtasks** are operators and Decisions, without inputs and outputs.']),
    '- **Edges**: several between the same two nodes count once.',
    '- **Depth**: steps that must follow one another. **Width**: nodes of the largest step.',
    '- **Largest antichain**: nodes none of which waits for another, so that they can run at once.',
    '- **Parallelism**: nodes a step, on average. **Dependency complexity**: how unlike the numbers of edges at nodes are.',
    '- **Implied edges**: edges whose order another path says already.',
    `- **Expected to complete**: ${failing(first)}.`,
    '',
  );
  const reasons = [...new Set(parts.map((part) => part.undefined).filter((reason) => reason !== null))];
  for (const reason of reasons) lines.push(`*Not defined: ${literal(reason)}*`, '');
  return lines.join('\n');
}

function sentences(part: Measures, isWorkflow: boolean, calls: Metrics['calls'], promises: number): string[] {
  const what = isWorkflow ? 'subtask' : 'node';
  const found = [`${counted(part.nodes, what)} with ${counted(part.edges, 'edge')} among them.`];
  if (part.depth !== null && part.width !== null) found.push(`At least ${counted(part.depth, 'step')}, up to ${part.width} at once.`);
  if (calls !== null) {
    const range = calls.most === null ? `${calls.least} or more` : calls.least === calls.most ? String(calls.least) : `${calls.least} to ${calls.most}`;
    found.push(`A run makes ${range} ${calls.most === 1 ? 'call' : 'calls'}.`);
  }
  if (promises > 0) found.push(`${counted(promises, 'node')} ${promises === 1 ? 'says' : 'say'} by \`returns:\` what the answer is, which Merrow can't check.`);
  return [found.join(' ')];
}

function failing({ expected_completed: expected }: Measures): string {
  return expected === null ? 'nodes that complete' : `nodes that complete where each fails with probability ${expected.failure_probability}`;
}

function counted(number: number, thing: string): string {
  return `${count(number)} ${thing}${number === 1 ? '' : 's'}`;
}

function count(number: number | null): string {
  return number === null ? 'n/a' : number.toLocaleString('en');
}

function figure(number: number | null): string {
  return number === null ? 'n/a' : String(Number(number.toFixed(2)));
}

function code(id: string): string {
  return `\`${id.replaceAll(/[`|]/g, ' ')}\``;
}

/** Words that Markdown takes as they are. */
function literal(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|#!&]/g, String.raw`\$&`);
}
