import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { pick, type Choice } from '../evaluations/picking';
import { execute } from '../jobs/execute';
import { fileName } from '../jobs/item';
import { say } from '../say';
import { starter } from './starter';

const TITLE = 'New Workflow';
const TEMPLATES = 'merrow.templates';
const ENDING = /\.(?:mmd|mermaid)$/i;

/** A pattern in the answer to `merrow.templates`. */
interface Template {
  readonly name: string;
  readonly group: string;
  readonly title: string;
}

/** One with its text, and what has to be added before it can run, in sentences. */
interface WholeTemplate extends Template {
  readonly text: string;
  readonly needs: readonly string[];
}

/** The name of the file that is proposed for the workflow that is chosen, and its pattern; undefined for the first workflow. */
interface Start {
  readonly file: string;
  readonly template?: Template;
}

/** Write a workflow that starts from a pattern into a new file of the workspace and open it; where there is none, into an unsaved one. */
export async function newWorkflow(context: MerrowContext): Promise<void> {
  const start = await pick(TITLE, 'Start from which pattern?', choices(context));
  if (start === undefined) return;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (folder === undefined) {
    const { text, needs } = await written(context, start, start.file);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: 'mermaid', content: text }));
    for (const need of needs) void say.info(need);
    return;
  }
  const name = await newName(folder, start.file);
  if (name === undefined) return;
  const file = vscode.Uri.joinPath(folder, name);
  const { text, needs } = await written(context, start, fileName(file.path));
  const change = new vscode.WorkspaceEdit();
  change.createFile(file, { contents: new TextEncoder().encode(text), overwrite: false, ignoreIfExists: false });
  if (!(await vscode.workspace.applyEdit(change))) throw new Error(`${name} can't be written.`);
  await vscode.window.showTextDocument(file);
  for (const need of needs) void say.info(need);
}

/** The first workflow, which needs no server, and the patterns under what they are for. */
async function choices(context: MerrowContext): Promise<Choice<Start>[]> {
  const first: Choice<Start> = { label: 'Two solvers and a vote', description: 'a first workflow', value: { file: 'workflow.mmd' } };
  const known = await execute<Template[]>(context, TEMPLATES, {}).catch((problem: unknown) => {
    context.log.info(`The patterns are not listed: ${String(problem)}`);
    return [];
  });
  const offered = [first];
  let group = '';
  for (const template of known) {
    const { name, title } = template;
    if (template.group !== group) offered.push({ label: (group = template.group), kind: vscode.QuickPickItemKind.Separator, value: first.value });
    offered.push({ label: title, description: name, value: { file: `${name}.mmd`, template } });
  }
  return offered;
}

async function written(context: MerrowContext, { template }: Start, file: string): Promise<Pick<WholeTemplate, 'text' | 'needs'>> {
  if (template === undefined) return { text: starter, needs: [] };
  const [whole] = await execute<WholeTemplate[]>(context, TEMPLATES, { name: template.name, file });
  if (whole === undefined) throw new Error(`There is no pattern ${template.name}.`);
  return whole;
}

/** The path in a folder of a file that is not there yet; undefined where the user leaves. */
async function newName(folder: vscode.Uri, proposed: string): Promise<string | undefined> {
  let value = proposed;
  for (let number = 2; await exists(vscode.Uri.joinPath(folder, value)); number += 1) value = proposed.replace(ENDING, `_${number}$&`);
  const typed = await vscode.window.showInputBox({
    title: TITLE,
    prompt: 'The name of the new file',
    value,
    valueSelection: [0, value.length - '.mmd'.length],
    ignoreFocusOut: true,
    validateInput: (text) => nameProblem(folder, text),
  });
  return typed === undefined ? undefined : withEnding(typed);
}

async function nameProblem(folder: vscode.Uri, text: string): Promise<string | undefined> {
  const name = withEnding(text);
  if (/(?:^|[/\\])\.(?:mmd|mermaid)$/i.test(name) || name.split(/[/\\]/).includes('..')) return 'A name in the folder of the workspace, such as flow.mmd.';
  return (await exists(vscode.Uri.joinPath(folder, name))) ? `${name} already exists; choose another name.` : undefined;
}

function withEnding(text: string): string {
  const name = text.trim();
  return ENDING.test(name) ? name : `${name}.mmd`;
}

function exists(file: vscode.Uri): Thenable<boolean> {
  return vscode.workspace.fs.stat(file).then(() => true, () => false);
}
