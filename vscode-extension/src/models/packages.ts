import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import { isolated } from '../python/probe';
import type { Facts } from '../python/interpreter';
import { explainFailure } from './failure';

/** What reaching a real endpoint needs beyond the bundled parts: compiled, so made for one interpreter on one machine. */
export const requirement = 'openai[aiohttp]==3.57.0';

/** Importing these shows that all of it works. */
const proof = 'import openai, httpx2, jiter, pydantic_core, aiohttp, multidict, yarl, frozenlist';

/** Where things lie: the extension's storage, and the versions of the bundled packages. */
export interface Places {
  readonly storage: string;
  readonly constraints: string;
}

/** The private folder of one interpreter's packages. */
export function packagesFolder(storage: string, facts: Facts): string {
  return path.join(storage, 'models', facts.tag.replaceAll(/[^\w.-]/g, '_'));
}

const marker = 'merrow-installed.json';

/** The folder with the packages for an interpreter; undefined where they were not set up, or in another version. */
export async function installed(storage: string, facts: Facts): Promise<string | undefined> {
  const folder = packagesFolder(storage, facts);
  try {
    const noted = JSON.parse(await readFile(path.join(folder, marker), 'utf8')) as { requirement?: unknown };
    return noted.requirement === requirement ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Install the packages for an interpreter. All or nothing: what was there stays until the new ones are seen to work. */
export async function install(facts: Facts, places: Places, report: (line: string) => void, signal: AbortSignal): Promise<string> {
  const folder = packagesFolder(places.storage, facts);
  const fresh = `${folder}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    const pip = await pipOf(facts, places.storage, report, signal);
    const given = ['--disable-pip-version-check', '--no-input', '--progress-bar', 'off', '--only-binary', ':all:', '--no-warn-conflicts'];
    const command = [...pip.slice(1), 'install', ...given, '--target', fresh, '--constraint', places.constraints, requirement];
    await run(pip[0] ?? facts.executable, command, report, signal);
    const check = `import sys; sys.path.append(sys.argv[1]); ${proof}`;
    await run(facts.executable, [...isolated, '-c', check, fresh], report, signal);
    await writeFile(path.join(fresh, marker), JSON.stringify({ requirement }));
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
    return folder;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Take the packages of all interpreters away. */
export async function remove(storage: string): Promise<void> {
  await rm(path.join(storage, 'models'), { recursive: true, force: true });
}

/** The command line of a pip: the interpreter's own, or that of a throw-away environment where it has none. */
async function pipOf(facts: Facts, storage: string, report: (line: string) => void, signal: AbortSignal): Promise<string[]> {
  const own = [facts.executable, '-I', '-m', 'pip'];
  try {
    await run(facts.executable, [...own.slice(1), '--version'], report, signal);
    return own;
  } catch (problem) {
    if (signal.aborted) throw problem;
    report(`${facts.executable} has no pip of its own; making an environment that has one.`);
  }
  const folder = path.join(storage, 'models', 'pip');
  await run(facts.executable, ['-I', '-m', 'venv', '--clear', folder], report, signal);
  const python = process.platform === 'win32' ? path.join(folder, 'Scripts', 'python.exe') : path.join(folder, 'bin', 'python');
  return [python, '-I', '-m', 'pip'];
}

/** Run a program to its end; its lines go to `report`. Rejects with a sentence. */
function run(command: string, given: readonly string[], report: (line: string) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { signal, windowsHide: true, maxBuffer: 1 << 26, encoding: 'utf8' } as const;
    const child = execFile(command, [...given], options, (error, stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(signal.aborted ? 'It was cancelled.' : explainFailure(`${stdout}\n${stderr}`)));
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: string) => {
        for (const line of text.split(/\r?\n/)) if (line.trim() !== '') report(line);
      });
    }
  });
}
