/** Files of named input sets: their names, and their text where the extension writes it. Pure. */

/** The ending of their names. */
export const ENDING = '.inputs.yaml';

/** What the server reads in such a file. */
export interface InputSets {
  readonly sets: readonly InputSet[];
  readonly problem: { readonly line: number; readonly message: string } | null;
}

export interface InputSet {
  readonly name: string;
  readonly line: number;
  readonly inputs: Readonly<Record<string, SetValue>>;
}

export type SetValue = { readonly text: string } | { readonly file: string };

/** The path of a workflow's sets: `flow.inputs.yaml` beside `flow.mmd`, `notes.2.inputs.yaml` for the second diagram of `notes.md`. */
export function setsPath(workflow: string, diagram: number): string {
  return `${workflow.replace(/\.[^./\\]*$/, '')}${diagram > 1 ? `.${diagram}` : ''}${ENDING}`;
}

/** The paths of the workflows that a file of sets may be for, with the number of the diagram. */
export function workflowPaths(sets: string): { readonly path: string; readonly diagram: number }[] {
  if (!sets.endsWith(ENDING)) return [];
  const stem = sets.slice(0, -ENDING.length);
  const whole = ['.mmd', '.mermaid', '.md', '.markdown'].map((ending) => ({ path: stem + ending, diagram: 1 }));
  const numbered = /^(.*)\.(\d{1,4})$/s.exec(stem);
  const parts = numbered === null ? [] : ['.md', '.markdown'].map((ending) => ({ path: (numbered[1] ?? '') + ending, diagram: Number(numbered[2]) }));
  return [...whole, ...parts];
}

/** A first text for a workflow's sets: one set with a value for each input, as far as one is known. */
export function firstSets(workflow: string, values: readonly { readonly name: string; readonly about: string; readonly value: SetValue }[]): string {
  const lines = [
    `# Inputs of ${oneLine(workflow)}: named sets to run it with. A value is text, lines behind |, or a file such as {file: letter.txt}.`,
    'first:',
  ];
  for (const { name, about, value } of values) {
    lines.push(`  # ${oneLine(about)}`, ...entry(name, value));
  }
  return `${lines.join('\n')}\n`;
}

function entry(name: string, value: SetValue): string[] {
  const key = /^[A-Za-z_][\w-]*$/.test(name) ? name : JSON.stringify(name);
  if ('file' in value) return [`  ${key}: {file: ${JSON.stringify(value.file)}}`];
  const { text } = value;
  // Only plain lines go behind |: the others need the escapes of quotes.
  if (text.includes('\n') && /^[^\s]/.test(text) && !/[^\n\t\u0020-\ud7ff]|\n\n$|^\n+$/.test(text)) {
    const lines = text.replace(/\n$/, '').split('\n');
    return [`  ${key}: |${text.endsWith('\n') ? '' : '-'}`, ...lines.map((line) => (line === '' ? '' : `    ${line}`))];
  }
  return [`  ${key}: ${JSON.stringify(text)}`];
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
