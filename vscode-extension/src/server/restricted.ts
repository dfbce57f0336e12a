/** What the server may be asked for before the workspace is trusted: all that only reads and rewrites text. */

const allowedCommands = new Set([
  'merrow.fix',
  'merrow.fixWorkspace',
  'merrow.repair',
  'merrow.metrics',
  'merrow.showMetrics',
  'merrow.graph',
  'merrow.compile',
  'merrow.explain',
  'merrow.mutations',
  'merrow.mutate',
  'merrow.crossover',
  'merrow.templates',
  'merrow.cancel',
]);

export const refusal = 'This workspace is in Restricted Mode: workflows can be run once you trust it.';

/** Whether a request is refused in Restricted Mode; a command that is not known to be harmless is. */
export function refused(trusted: boolean, method: string, params: unknown): boolean {
  if (trusted || method !== 'workspace/executeCommand') return false;
  const command = typeof params === 'object' && params !== null ? (params as { command?: unknown }).command : undefined;
  return typeof command !== 'string' || !allowedCommands.has(command);
}
