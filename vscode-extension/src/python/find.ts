import * as os from 'node:os';
import * as vscode from 'vscode';
import { Setting } from '../contributed';
import { environmentsId, fromEnvironments, fromPythonExtension, pythonId, type Neighbour } from './extensions';
import { choose, type Candidate, type Choice } from './interpreter';
import { pythonNames, thisMachine, which } from './path';
import { probe } from './probe';
import { namedPython } from './setting';

/** Look for the interpreter that is to run the server. `cwd` is a folder where nothing of the workspace lies. */
export function findPython(cwd: string): Promise<Choice> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const neighbour = (id: string): Neighbour | undefined => vscode.extensions.getExtension(id);
  // In Restricted Mode an interpreter that was selected for a workspace may be a program of the workspace.
  const selected = vscode.workspace.isTrusted
    ? [
        () => fromEnvironments(neighbour(environmentsId), folder),
        () => fromPythonExtension(neighbour(pythonId), folder),
      ]
    : [];
  return choose(
    [() => fromSetting(folder), ...selected, fromPath],
    (path) => probe(path, cwd),
    () => which('merrow', thisMachine()),
  );
}

async function fromSetting(folder: vscode.Uri | undefined): Promise<Candidate[]> {
  const given = vscode.workspace.getConfiguration('merrow').get<string>(Setting.python, '');
  const named = namedPython(given, { folder: folder?.scheme === 'file' ? folder.fsPath : undefined, home: os.homedir() });
  if (named === undefined) return [];
  const path = 'path' in named ? named.path : ((await which(named.name, thisMachine())) ?? named.name);
  return [{ source: 'setting', path, because: 'the setting merrow.python names it' }];
}

async function fromPath(): Promise<Candidate[]> {
  const machine = thisMachine();
  const found: Candidate[] = [];
  for (const name of pythonNames(machine)) {
    const path = await which(name, machine);
    if (path !== undefined) found.push({ source: 'path', path, because: `${name} is on the PATH` });
  }
  return found;
}
