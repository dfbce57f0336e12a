import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import type { Given, Input, Typed } from '../run/inputs';
import type { Target } from '../run/protocol';
import { firstSets, setsPath, workflowPaths, type InputSet, type InputSets } from './setsText';

/** The named input sets of workflows, each in a file beside its workflow. */
export class SetFiles {
  constructor(private readonly context: MerrowContext) {}

  /** Where the sets of a workflow are; undefined for one that lies nowhere yet. */
  of({ uri, diagram }: Target): vscode.Uri | undefined {
    const workflow = vscode.Uri.parse(uri);
    return workflow.scheme === 'untitled' ? undefined : workflow.with({ path: setsPath(workflow.path, diagram) });
  }

  /** The workflow that a file of sets is for. */
  async workflowOf(sets: vscode.Uri): Promise<Target | undefined> {
    for (const { path, diagram } of workflowPaths(sets.path)) {
      const uri = sets.with({ path });
      if (await exists(uri)) return { uri: uri.toString(), diagram };
    }
    return undefined;
  }

  /** The sets of a workflow; none where it has no file of them. Rejects with a sentence where that can't be read. */
  async read(target: Target): Promise<readonly InputSet[]> {
    const uri = this.of(target);
    const text = uri === undefined ? undefined : await textOf(uri);
    if (uri === undefined || text === undefined) return [];
    const { sets, problem } = await this.readText(text);
    if (problem !== null) throw new Error(`${nameOf(uri)}, line ${problem.line + 1}: ${problem.message}`);
    return sets;
  }

  async readText(text: string): Promise<InputSets> {
    const client = await this.context.readyClient();
    return client.sendRequest<InputSets>('merrow/inputSets', { text });
  }

  /** What a set gives for one input. Rejects with a sentence where it does not any more. */
  async value(target: Target, set: string, name: string): Promise<Typed> {
    const found = (await this.read(target)).find((one) => one.name === set);
    const value = found?.inputs[name];
    if (value === undefined) throw new Error(`The input set ${set} ${found === undefined ? 'is gone' : `has no ${name} any more`}. Run with other inputs to choose another.`);
    if ('text' in value) return value;
    const at = vscode.Uri.joinPath(this.of(target) ?? vscode.Uri.parse(target.uri), '..');
    return { file: (/^(?:[/\\]|[A-Za-z]:)/.test(value.file) ? vscode.Uri.file(value.file) : vscode.Uri.joinPath(at, value.file)).toString() };
  }

  /** Open the sets of a workflow; a file is begun where there is none. */
  async edit(target: Target, inputs: readonly Input[], known: Readonly<Record<string, Given>>): Promise<void> {
    const uri = this.of(target);
    if (uri === undefined) throw new Error('Save the workflow first: its inputs are kept in a file beside it.');
    if ((await textOf(uri)) === undefined) {
      const folder = vscode.Uri.joinPath(uri, '..').toString();
      const values = inputs.map((input) => {
        const given = known[input.name];
        const value = given === undefined || 'set' in given ? { text: input.fallback ?? '' } : 'file' in given ? { file: pathFrom(folder, given.file) } : given;
        return { name: input.name, about: `${input.title}: ${input.type}`, value };
      });
      await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(firstSets(nameOf(vscode.Uri.parse(target.uri)), values)));
    }
    await vscode.window.showTextDocument(uri, { preview: false });
  }
}

/** The path of a file as a set in a folder names it. */
function pathFrom(folder: string, file: string): string {
  return file.startsWith(`${folder}/`) ? decodeURIComponent(file.slice(folder.length + 1)) : vscode.Uri.parse(file).fsPath;
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(() => true, () => false);
}

/** The text of a file as it is in its editor, else on the disk; undefined where there is none. */
async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open !== undefined) return open.getText();
  return vscode.workspace.fs.readFile(uri).then((bytes) => new TextDecoder().decode(bytes), () => undefined);
}

function nameOf(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf('/') + 1);
}
