/** The fields of a data file, as far as its beginning shows them. Pure. */

/** Readers of published data sets, which know their fields; a file's name begins with one. */
const READERS = /^(?:gsm8k|math|humaneval|mbpp|drop|hotpotqa)/i;
/** Options of metrics that are numbers. */
const NUMBERS: ReadonlySet<string> = new Set(['tolerance', 'letters', 'threshold']);
const USUAL = ['answer', 'gold', 'label', 'expected', 'target', 'solution', 'output'];

export const METRICS: readonly (readonly [string, string])[] = [
  ['exact', 'is the right answer'],
  ['contains', 'has the words of the right answer in it'],
  ['numeric', 'its last number is the right one'],
  ['choice', 'chooses the right option'],
  ['f1', 'has the words of the right answer; a part of them counts in part'],
  ['math', 'the same mathematics (needs merrow[evaluate])'],
  ['judge', 'a model says so by a rubric, which costs calls'],
];

/** Those that fewer need. */
export const OTHER_METRICS: readonly (readonly [string, string])[] = [
  ['regex', 'has a pattern in it'],
  ['json-schema', 'is JSON that fits a schema'],
  ['python', 'a function in a file of yours says so'],
  ['labels', 'a person called it good'],
  ['pass@1', 'its program passes all hidden tests'],
  ['product', 'is a product, such as a game, that is as its item says'],
  ['reward', 'its environment rewards it'],
  ['gsm8k', 'its last number is the right one, by the published rule'],
  ['math-published', 'the same mathematics, by the published rule (needs merrow[evaluate])'],
];

/** An option of a metric, which the user typed: a number where it is one of those that are numbers. */
export function optionValue(name: string, text: string): string | number {
  const isNumber = NUMBERS.has(name) && text.trim() !== '' && Number.isFinite(Number(text));
  return isNumber ? Number(text) : text;
}

export function hasReader(name: string): boolean {
  return READERS.test(name);
}

/** The fields of the first record; none where the file's beginning does not show them. */
export function fieldsOf(name: string, beginning: string): string[] {
  const text = beginning.replace(/^\uFEFF/, '').trimStart();
  if (/\.csv$/i.test(name)) return csvHead(text.split(/\r?\n/, 1)[0] ?? '');
  const record = /\.json$/i.test(name) ? firstOf(text) : text.split(/\r?\n/).find((line) => line.trim() !== '');
  try {
    const found: unknown = JSON.parse(record ?? '');
    return typeof found === 'object' && found !== null && !Array.isArray(found) ? Object.keys(found) : [];
  } catch {
    return [];
  }
}

/** The text of the first object of an array. */
function firstOf(text: string): string {
  const start = text.indexOf('{');
  let [depth, quoted] = [0, false];
  for (let at = start; at >= 0 && at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign === '\\') at += 1;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === '{') depth += 1;
    else if (sign === '}' && (depth -= 1) === 0) return text.slice(start, at + 1);
  }
  return '';
}

function csvHead(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) => (quoted?.replaceAll('""', '"') ?? bare ?? '').trim()).filter((name) => name !== '');
}

/** The fields, the one that most likely has the right answer first. */
export function byGold(fields: readonly string[]): string[] {
  const rank = (field: string) => {
    const found = USUAL.indexOf(field.toLowerCase());
    return found < 0 ? USUAL.length : found;
  };
  return [...fields].sort((one, other) => rank(one) - rank(other));
}

/** The inputs that no field feeds by its own name, in any case. */
export function unfed(inputs: readonly string[], fields: readonly string[]): string[] {
  const known = new Set(fields.map((field) => field.toLowerCase()));
  return inputs.filter((input) => !known.has(input.toLowerCase()));
}

interface OperatorNode {
  readonly id: string;
  readonly operator?: string | null;
}

/** The nodes that ask people. */
export function asksPeople<Node extends OperatorNode>(nodes: readonly Node[]): Node[] {
  return nodes.filter(({ operator }) => operator === 'Human');
}

/** Data files by their places, those that batches wrote last. */
export function byPlace<One extends { readonly place: string }>(files: readonly One[]): One[] {
  const isAnswers = ({ place }: One) => Number(/\.answers\.(?:csv|jsonl)$/i.test(place));
  return [...files].sort((one, other) => isAnswers(one) - isAnswers(other) || one.place.localeCompare(other.place));
}

/** Whether a workflow acts in an environment. */
export function actsSomewhere(nodes: readonly OperatorNode[]): boolean {
  return nodes.some(({ operator }) => operator === 'Environment');
}

/** Whether a workflow calls tools. */
export function callsTools(nodes: readonly OperatorNode[]): boolean {
  return nodes.some(({ operator }) => operator === 'Tool' || operator === 'ToolAgent');
}
