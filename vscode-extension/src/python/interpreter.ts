/** Which program runs the server, as a value that says why. Pure: whatever is asked of the machine comes in as functions. */

export const oldest: readonly [number, number] = [3, 11];
export const oldestText = oldest.join('.');

/** Where a candidate comes from. */
export type Source = 'setting' | 'environments' | 'pythonExtension' | 'path' | 'merrow';

/** A Python that may do, not yet looked at. */
export interface Candidate {
  readonly source: Source;
  readonly path: string;
  /** In a sentence after "because": "the setting merrow.python names it". */
  readonly because: string;
}

/** What an interpreter says of itself. */
export interface Facts {
  readonly executable: string;
  readonly version: readonly [number, number, number];
  /** Implementation, version and machine, such as `cpython-311-linux-x86_64`: packages compiled for one serve no other. */
  readonly tag: string;
}

export type Probed = { readonly facts: Facts } | { readonly problem: string };

export interface Rejected {
  readonly candidate: Candidate;
  readonly problem: string;
}

export type Choice =
  | { readonly kind: 'python'; readonly source: Source; readonly facts: Facts; readonly because: string; readonly rejected: readonly Rejected[] }
  | { readonly kind: 'program'; readonly path: string; readonly because: string; readonly rejected: readonly Rejected[] }
  | { readonly kind: 'none'; readonly problem: string; readonly rejected: readonly Rejected[] };

/** Gives the candidates of one source; asked only when those before it did not do. */
export type Candidates = () => Promise<readonly Candidate[]>;

/**
 * The first candidate that is new enough. A setting is the user's word: where it names a Python that does not do, that is told
 * and nothing else is tried. `program` is an installed `merrow`, which brings its own Python.
 */
export async function choose(
  sources: readonly Candidates[],
  probe: (path: string) => Promise<Probed>,
  program: () => Promise<string | undefined>,
): Promise<Choice> {
  const rejected: Rejected[] = [];
  const seen = new Set<string>();
  for (const source of sources) {
    for (const candidate of await source()) {
      if (seen.has(candidate.path)) continue;
      seen.add(candidate.path);
      const problem = await judged(candidate, probe);
      if (typeof problem !== 'string') {
        return { kind: 'python', source: candidate.source, facts: problem, because: candidate.because, rejected };
      }
      rejected.push({ candidate, problem });
      if (candidate.source === 'setting') {
        return { kind: 'none', problem: `The Python in the setting merrow.python, ${candidate.path}, can't be used: ${problem}`, rejected };
      }
    }
  }
  const path = await program();
  if (path !== undefined) return { kind: 'program', path, because: 'an installed merrow is on the PATH', rejected };
  return { kind: 'none', problem: nothingFound(rejected), rejected };
}

async function judged(candidate: Candidate, probe: (path: string) => Promise<Probed>): Promise<Facts | string> {
  const probed = await probe(candidate.path);
  if ('problem' in probed) return probed.problem;
  const { version } = probed.facts;
  return newEnough(version) ? probed.facts : `it is Python ${version.join('.')}, and Merrow needs ${oldestText} or newer.`;
}

export function newEnough(version: readonly [number, number, number]): boolean {
  return version[0] > oldest[0] || (version[0] === oldest[0] && version[1] >= oldest[1]);
}

function nothingFound(rejected: readonly Rejected[]): string {
  const found = rejected.filter(({ problem }) => problem.startsWith('it is Python'));
  const newest = found[0];
  if (newest === undefined) return `Merrow needs Python ${oldestText} or newer, and none was found.`;
  return `Merrow needs Python ${oldestText} or newer. The Python found, ${newest.candidate.path}, does not do: ${newest.problem}`;
}

/** The choice in a sentence, for the log and the server info. */
export function explained(choice: Choice): string {
  switch (choice.kind) {
    case 'python':
      return `Python ${choice.facts.version.join('.')} at ${choice.facts.executable}, because ${choice.because}.`;
    case 'program':
      return `The program ${choice.path}, because no Python ${oldestText} or newer was found and ${choice.because}.`;
    case 'none':
      return choice.problem;
  }
}
