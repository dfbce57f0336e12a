import { createHash } from 'node:crypto';
import * as path from 'node:path';
import type { Environment } from '../context';
import { isolated } from '../python/probe';
import type { Choice } from '../python/interpreter';
import type { Plan } from './supervisor';

/** Where the extension's parts and its own data lie. */
export interface Places {
  readonly extension: string;
  readonly storage: string;
}

/** A process to start. `environment` is laid over the editor's own; `undefined` takes a variable away. */
export interface Launch extends Plan {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Environment;
  readonly choice: Choice;
}

/** Variables of the editor that mean something else to its children. */
const notInherited: Environment = { ELECTRON_RUN_AS_NODE: undefined, ELECTRON_NO_ASAR: undefined };

/**
 * The command line for a choice. A Python runs the bundled parts, isolated from the user's packages, with the packages of the model
 * access and of tools behind them where they were set up; an installed `merrow` runs as it is. Nothing runs in the workspace's folder.
 */
export function launch(
  choice: Exclude<Choice, { kind: 'none' }>,
  places: Places,
  access: Environment,
  packages: readonly string[],
  base: NodeJS.ProcessEnv = process.env,
): Launch {
  const environment = { ...notInherited, ...access };
  const cwd = places.extension;
  const [command, args] = choice.kind === 'program' ? [choice.path, ['serve']] : [choice.facts.executable, pythonArguments(places, packages)];
  const identity = digest([command, args, told(applied(base, access))]);
  return { command, args, cwd, environment, choice, identity };
}

function pythonArguments(places: Places, packages: readonly string[]): string[] {
  return [
    ...isolated,
    '-X',
    `pycache_prefix=${path.join(places.storage, 'bytecode')}`,
    path.join(places.extension, 'bootstrap', 'start_server.py'),
    path.join(places.extension, 'python', 'lib'),
    ...packages,
  ];
}

/** What a server's environment says of model access, in an order of its own. */
function told(environment: NodeJS.ProcessEnv): [string, string | undefined][] {
  return Object.entries(environment)
    .filter(([name]) => name.startsWith('OPENAI_'))
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

/** A number in the place of what may hold a key. */
function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** The environment of a child process: the editor's, with the changes. */
export function applied(base: NodeJS.ProcessEnv, changes: Environment): NodeJS.ProcessEnv {
  const result = { ...base };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) Reflect.deleteProperty(result, name);
    else result[name] = value;
  }
  return result;
}
