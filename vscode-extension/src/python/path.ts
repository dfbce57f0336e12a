import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import * as nodePath from 'node:path';

/** What a look along the PATH depends on. */
export interface Machine {
  readonly windows: boolean;
  readonly path: string;
  /** Windows' endings of programs, such as `.EXE;.CMD`. */
  readonly endings: string;
}

export const thisMachine = (): Machine => ({
  windows: process.platform === 'win32',
  path: process.env['PATH'] ?? process.env['Path'] ?? '',
  endings: process.env['PATHEXT'] ?? '.EXE',
});

/** The names under which a Python may lie on the PATH, likeliest first. */
export function pythonNames(machine: Machine): readonly string[] {
  return machine.windows ? ['python', 'python3'] : ['python3', 'python', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];
}

/** The first program of this name on the PATH. Relative folders are left out: they would lead into the workspace. */
export async function which(name: string, machine: Machine): Promise<string | undefined> {
  const endings = machine.windows ? machine.endings.split(';').filter((ending) => /^\.(exe|com)$/i.test(ending)) : [''];
  for (const folder of machine.path.split(machine.windows ? ';' : ':')) {
    if (!nodePath.isAbsolute(folder)) continue;
    for (const ending of endings) {
      const file = nodePath.join(folder, name + ending);
      if (await isProgram(file)) return file;
    }
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
