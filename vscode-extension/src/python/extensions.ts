import type { Candidate } from './interpreter';

/** What another extension offers, as VS Code hands it out; only what is used here. */
export interface Neighbour {
  readonly isActive: boolean;
  readonly exports: unknown;
  activate(): PromiseLike<unknown>;
}

export const environmentsId = 'ms-python.vscode-python-envs';
export const pythonId = 'ms-python.python';
const patience = 5000;

/** The interpreter that the Python Environments extension has chosen for a folder (a `Uri`, or undefined). */
export async function fromEnvironments(neighbour: Neighbour | undefined, folder: unknown): Promise<readonly Candidate[]> {
  const api = await apiOf(neighbour);
  const getEnvironment = member(api, 'getEnvironment');
  if (getEnvironment === undefined) return [];
  const environment = await soon(getEnvironment.call(api, folder));
  const path = text(walk(environment, 'execInfo', 'run', 'executable'));
  return path === undefined ? [] : [{ source: 'environments', path, because: 'the Python Environments extension has it selected' }];
}

/** The interpreter that the Python extension has chosen for a folder. */
export async function fromPythonExtension(neighbour: Neighbour | undefined, folder: unknown): Promise<readonly Candidate[]> {
  const api = walk(await apiOf(neighbour), 'environments');
  const getActive = member(api, 'getActiveEnvironmentPath');
  if (getActive === undefined) return [];
  const active = getActive.call(api, folder);
  const resolve = member(api, 'resolveEnvironment');
  const resolved = resolve === undefined ? undefined : await soon(resolve.call(api, active));
  const path = text(walk(resolved, 'executable', 'uri', 'fsPath')) ?? text(walk(active, 'path'));
  return path === undefined ? [] : [{ source: 'pythonExtension', path, because: 'the Python extension has it selected' }];
}

/** Call `changed` whenever one of the two chooses another interpreter. Neither is started for that. */
export function onDidChange(neighbours: readonly (Neighbour | undefined)[], changed: () => void): { dispose(): void }[] {
  return neighbours.flatMap((neighbour) => {
    if (neighbour?.isActive !== true) return [];
    const api = neighbour.exports;
    const listeners = [
      [api, member(api, 'onDidChangeEnvironment')],
      [walk(api, 'environments'), member(walk(api, 'environments'), 'onDidChangeActiveEnvironmentPath')],
    ] as const;
    return listeners.flatMap(([owner, subscribe]) => {
      const listening = subscribe?.call(owner, changed);
      return isDisposable(listening) ? [listening] : [];
    });
  });
}

async function apiOf(neighbour: Neighbour | undefined): Promise<unknown> {
  if (neighbour === undefined) return undefined;
  if (neighbour.isActive) return neighbour.exports;
  return soon(neighbour.activate());
}

/** A neighbour that fails or takes its time is one that has no interpreter for us. */
async function soon(value: unknown): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
    }, patience);
  });
  try {
    return await Promise.race([value, late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

function walk(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

type Callable = (this: unknown, ...given: unknown[]) => unknown;

function member(value: unknown, name: string): Callable | undefined {
  const found = walk(value, name);
  return typeof found === 'function' ? (found as Callable) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isDisposable(value: unknown): value is { dispose(): void } {
  return member(value, 'dispose') !== undefined;
}
