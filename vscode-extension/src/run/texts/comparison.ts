/** Two runs side by side. Pure. */
import { costText, figures, secondsText, tokensText } from './figures';
import { comparablePage, shortName, valueText } from './pages';
import type { NodeReport, RunReport } from '../protocol';

export type Difference = 'same' | 'other output' | 'other question' | 'other status' | 'only before' | 'only after';

export interface ComparedNode {
  readonly node: string;
  readonly difference: Difference;
  readonly before: string;
  readonly after: string;
}

export interface Comparison {
  /** What is to be said of each run as a whole; lines that belong together stand at the same place. */
  readonly before: string;
  readonly after: string;
  readonly nodes: readonly ComparedNode[];
}

export function compare(before: RunReport, after: RunReport): Comparison {
  const [one, other] = [byName(before), byName(after)];
  const names = [...new Set([...one.keys(), ...other.keys()])];
  const nodes = names.map((node) => ({
    node,
    difference: difference(one.get(node), other.get(node)),
    before: comparablePage(one.get(node)),
    after: comparablePage(other.get(node)),
  }));
  return { before: overview(before, nodes), after: overview(after, nodes), nodes };
}

function byName(run: RunReport): Map<string, NodeReport> {
  return new Map(run.nodes.map((node) => [node.node, node]));
}

function difference(before: NodeReport | undefined, after: NodeReport | undefined): Difference {
  if (before === undefined) return 'only after';
  if (after === undefined) return 'only before';
  if (before.status !== after.status) return 'other status';
  if (valueText(before.outputs) !== valueText(after.outputs)) return 'other output';
  return comparablePage(before) === comparablePage(after) ? 'same' : 'other question';
}

function overview(run: RunReport, compared: readonly ComparedNode[]): string {
  const nodes = byName(run);
  const lines = [
    `run ${run.run} of ${shortName(run.workflow)}: ${run.status}`,
    [run.seconds === null ? '' : secondsText(run.seconds), tokensText(run.usage), costText(run.usage)].filter((part) => part !== '').join(' · '),
    '',
  ];
  if (run.error !== null) lines.push(run.error, '');
  for (const [name, value] of Object.entries(run.inputs)) lines.push(`input ${name}: ${valueText(value)}`);
  lines.push('');
  const width = Math.max(0, ...compared.map(({ node }) => node.length));
  const kinds = Math.max(0, ...compared.map((one) => one.difference.length));
  for (const { node, difference: kind } of compared) {
    const own = nodes.get(node);
    const words = own === undefined ? 'not there' : [own.status, figures(own.usage, own.seconds)].filter((part) => part !== '').join(' · ');
    lines.push(`${node.padEnd(width)}  ${kind.padEnd(kinds)}  ${words}`);
  }
  for (const [name, value] of Object.entries(run.outputs ?? {})) lines.push('', `output ${name}:`, valueText(value));
  return `${lines.join('\n')}\n`;
}
