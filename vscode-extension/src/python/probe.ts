import { execFile } from 'node:child_process';
import type { Probed } from './interpreter';

/** Old enough syntax for any Python, so that one that is too old can say so. */
const question = [
  'import json, sys, sysconfig',
  'tag = sys.implementation.cache_tag + "-" + sysconfig.get_platform()',
  'print(json.dumps([list(sys.version_info[:3]), sys.executable, tag]))',
].join('; ');

/** Isolated from the environment's variables, the current folder and all installed packages. */
export const isolated: readonly string[] = ['-I', '-S', '-X', 'utf8'];

/** Ask the program at `path` what Python it is. Answers within `seconds`, whatever the program does. */
export function probe(path: string, cwd: string, seconds = 10): Promise<Probed> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: seconds * 1000, killSignal: 'SIGKILL', windowsHide: true, encoding: 'utf8' } as const;
    execFile(path, [...isolated, '-c', question], options, (error, stdout, stderr) => {
      resolve(error === null ? read(stdout) : { problem: problemOf(error, stderr, seconds) });
    });
  });
}

/** What an interpreter's answer says. */
export function read(stdout: string): Probed {
  try {
    const [version, executable, tag] = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as unknown[];
    if (Array.isArray(version) && version.length === 3 && version.every(Number.isInteger) && typeof tag === 'string') {
      const [major, minor, micro] = version as [number, number, number];
      if (typeof executable === 'string' && executable !== '') return { facts: { executable, version: [major, minor, micro], tag } };
    }
  } catch {
    // No JSON: told below.
  }
  return { problem: 'it does not answer as a Python does.' };
}

interface Failure extends Error {
  readonly code?: unknown;
  readonly killed?: boolean;
}

function problemOf(error: Failure, stderr: string, seconds: number): string {
  if (error.code === 'ENOENT') return 'there is no such program.';
  if (error.code === 'EACCES') return 'it may not be executed.';
  if (error.killed === true) return `it did not answer within ${seconds} seconds.`;
  if (/unknown option: -I/i.test(stderr)) return 'it is Python 2, and Merrow needs 3.11 or newer.';
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return last === '' ? "it can't be started." : `it can't be started (${last.slice(0, 200)}).`;
}
