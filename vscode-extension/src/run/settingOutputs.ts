import * as vscode from 'vscode';
import { askFor } from './asking';
import type { NodeReport } from './protocol';
import { valueText } from './texts/pages';
import type { GraphNode } from './server';

/** An output that a person sets: its name as the server takes it, and the value. */
export interface SetOutput {
  readonly name: string;
  readonly value: string;
}

/**
 * Ask which output of a node is to be set, and what it is to be; of a Decision, the case to take. `visit` is the node with the turns and
 * items that it ran in, `before` what it did in the run that is shown. Undefined where the user leaves.
 */
export async function askForOutput(node: GraphNode, visit: string, before: NodeReport | undefined): Promise<SetOutput | undefined> {
  const title = `Set the Output of ${visit}`;
  if (node.cases !== undefined) {
    const items = node.cases.map((label, index) => ({ label, description: index === before?.case ? 'was chosen' : '' }));
    const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: 'The case to take', ignoreFocusOut: true });
    return chosen === undefined ? undefined : { name: visit, value: chosen.label };
  }
  const outputs = node.outputs ?? [];
  const output = outputs.length < 2 ? outputs[0] : (await pickOutput(outputs, title))?.output;
  if (output === undefined) return undefined;
  const known = before?.outputs?.[output.name];
  const last = known === undefined ? undefined : { text: valueText(known) };
  const input = { name: output.name, title: output.name, type: output.type ?? 'Text', fallback: undefined };
  const given = await askFor(input, last, title, 1, 1);
  if (given === undefined) return undefined;
  const value = 'text' in given ? given.text : new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.parse(given.file)));
  return { name: `${visit}.${output.name}`, value };
}

function pickOutput(outputs: NonNullable<GraphNode['outputs']>, title: string) {
  const items = outputs.map((output) => ({ label: output.name, description: output.type ?? '', output }));
  return vscode.window.showQuickPick(items, { title, placeHolder: 'Which output?', ignoreFocusOut: true });
}
