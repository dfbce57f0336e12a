import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import { isolated } from '../python/probe';
import type { Facts } from '../python/interpreter';
import { explainFailure } from './failure';

/** What reaching a real endpoint needs beyond the bundled parts: compiled, so made for one interpreter on one machine. */
export const requirement = 'openai[aiohttp]==3.57.0';

/** Packages that are set up together. */
export interface PackageSet {
  /** Their folder in the extension's storage. */
  readonly folder: 'models' | 'tools';
  readonly requirement: string;
  /** Importing these shows that all of it works. */
  readonly proof: string;
}

/** For model endpoints. */
export const MODELS: PackageSet = { folder: 'models', requirement, proof: 'import openai, httpx2, jiter, pydantic_core, aiohttp, multidict, yarl, frozenlist' };

/** For servers of tools, which speak the Model Context Protocol. */
export const TOOLS: PackageSet = { folder: 'tools', requirement: 'mcp==2.3.0', proof: 'import mcp, pydantic_core, anyio, httpx2' };

/** Where things lie: the extension's storage, and the versions of the bundled packages. */
export interface Places {
  readonly storage: string;
  readonly constraints: string;
}

/** The private folder of one interpreter's packages. */
export function packagesFolder(storage: string, facts: Facts, { folder }: PackageSet = MODELS): string {
  return path.join(storage, folder, facts.tag.replaceAll(/[^\w.-]/g, '_'));
}

const marker = 'merrow-installed.json';

/** The folder with the packages for an interpreter; undefined where they were not set up, or in another version. */
export async function installed(storage: string, facts: Facts, set: PackageSet = MODELS): Promise<string | undefined> {
  const folder = packagesFolder(storage, facts, set);
  try {
    const noted = JSON.parse(await readFile(path.join(folder, marker), 'utf8')) as { requirement?: unknown };
    return noted.requirement === set.requirement ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** The folders of all sets that were set up for an interpreter. */
export async function allInstalled(storage: string, facts: Facts): Promise<string[]> {
  const folders = await Promise.all([MODELS, TOOLS].map((set) => installed(storage, facts, set)));
  return folders.filter((folder) => folder !== undefined);
}

/** Install the packages for an interpreter. All or nothing: what was there stays until the new ones are seen to work. */
export async function install(facts: Facts, places: Places, report: (line: string) => void, signal: AbortSignal, set: PackageSet = MODELS): Promise<string> {
  const folder = packagesFolder(places.storage, facts, set);
  const fresh = `${folder}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    const pip = await pipOf(facts, places.storage, report, signal);
    const given = ['--disable-pip-version-check', '--no-input', '--progress-bar', 'off', '--only-binary', ':all:', '--no-warn-conflicts'];
    const command = [...pip.slice(1), 'install', ...given, '--target', fresh, '--constraint', places.constraints, set.requirement];
    await run(pip[0] ?? facts.executable, command, report, signal);
    const check = `import sys; sys.path.append(sys.argv[1]); ${set.proof}`;
    await run(facts.executable, [...isolated, '-c', check, fresh], report, signal);
    await writeFile(path.join(fresh, marker), JSON.stringify({ requirement: set.requirement }));
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
    return folder;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Take the packages of all interpreters away. */
export async function remove(storage: string): Promise<void> {
  for (const { folder } of [MODELS, TOOLS]) await rm(path.join(storage, folder), { recursive: true, force: true });
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
