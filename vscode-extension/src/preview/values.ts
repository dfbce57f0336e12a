/** What passes along the edges of a run, in few words. Pure. */

/** Characters of a value, and outputs of a node, that are shown. */
const LONGEST = 300;
const MOST = 8;

/** The beginning of each of a node's outputs as text. */
export function shownValues(outputs: Readonly<Record<string, unknown>> | null | undefined): Record<string, string> | undefined {
  const some = Object.entries(outputs ?? {}).slice(0, MOST);
  return some.length === 0 ? undefined : Object.fromEntries(some.map(([name, value]) => [name, beginning(value)]));
}

function beginning(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null, shortened);
  const whole = text.slice(0, LONGEST + 1).trim();
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST - 1)}…` : whole;
}

/** Long lists and texts within a value are cut before they are written: only their beginning can be seen. */
function shortened(_key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, LONGEST);
  return typeof value === 'string' ? value.slice(0, LONGEST) : value;
}
