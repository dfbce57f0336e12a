/** What the inputs of each workflow were last given, kept with the workspace. Pure: the storage is handed in. */
import type { Target } from './protocol';

/** A value that was typed, or the file that it is read from at each run. */
export type Typed = { readonly text: string } | { readonly file: string };

/** The same, or the named set that has the value. */
export type Given = Typed | { readonly set: string };

export interface Input {
  readonly name: string;
  readonly title: string;
  readonly type: string;
  /** The value that holds where none is given. */
  readonly fallback: string | undefined;
}

export interface Memory {
  get<T>(key: string, otherwise: T): T;
  update(key: string, value: unknown): PromiseLike<void>;
}

type Remembered = Readonly<Record<string, Readonly<Record<string, Given>>>>;

const KEY = 'merrow.inputs';
/** Workflows whose inputs are remembered. */
const MOST = 200;

export class InputMemory {
  constructor(private readonly memory: Memory) {}

  of(target: Target): Readonly<Record<string, Given>> {
    return this.memory.get<Remembered>(KEY, {})[place(target)] ?? {};
  }

  async remember(target: Target, given: Readonly<Record<string, Given>>): Promise<void> {
    const { [place(target)]: before, ...others } = this.memory.get<Remembered>(KEY, {});
    const kept = [...Object.entries(others), [place(target), { ...before, ...given }] as const].slice(-MOST);
    await this.memory.update(KEY, Object.fromEntries(kept));
  }
}

/** The inputs that have to be asked for: all with `again`, else those that neither memory nor a default has. */
export function missing(inputs: readonly Input[], known: Readonly<Record<string, Given>>, again: boolean): readonly Input[] {
  return inputs.filter(({ name, fallback }) => again || (!Object.hasOwn(known, name) && fallback === undefined));
}

/** What is known of the inputs that the workflow has now. */
export function known(inputs: readonly Input[], remembered: Readonly<Record<string, Given>>): Record<string, Given> {
  const names = new Set(inputs.map(({ name }) => name));
  return Object.fromEntries(Object.entries(remembered).filter(([name]) => names.has(name)));
}

interface GraphNode {
  readonly id: string;
  readonly label?: string | null;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly outputs?: readonly { readonly type?: string | null }[];
}

/** The inputs of a typed graph, as `merrow.graph` has it. */
export function inputsOf(graph: { readonly inputs: readonly string[]; readonly nodes: readonly GraphNode[] }): Input[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  return graph.inputs.map((name) => {
    const node = nodes.get(name);
    const given = node?.parameters?.['default'];
    const title = (node?.label ?? '').replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim();
    const fallback = given === undefined || given === null ? undefined : typeof given === 'string' ? given : JSON.stringify(given);
    return { name, title: title === '' ? name : title, type: node?.outputs?.[0]?.type ?? 'Text', fallback };
  });
}

function place({ uri, diagram }: Target): string {
  return `${uri}#${diagram}`;
}
