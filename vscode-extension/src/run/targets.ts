import * as vscode from 'vscode';
import { previews } from '../preview';
import type { MerrowContext } from '../context';
import type { Graph } from '../preview/protocol';
import { partAt } from '../preview/places';
import { selector } from '../selector';
import type { Target } from './protocol';

export const NO_WORKFLOW = 'Open a workflow first: a .mmd or .mermaid file, or Markdown with a mermaid block.';

/** What a command is about: what it was given, else what the active preview or the active editor shows. */
export async function targetOf(context: MerrowContext, given: unknown): Promise<Target | undefined> {
  const named = namedTarget(given);
  if (named !== undefined) return named;
  const shown = previews(context).shown();
  if (shown !== undefined && (!(given instanceof vscode.Uri) || given.toString() === shown.uri.toString())) {
    await vscode.workspace.openTextDocument(shown.uri);
    return { uri: shown.uri.toString(), diagram: shown.diagram ?? 1 };
  }
  const editor = vscode.window.activeTextEditor;
  const document =
    given instanceof vscode.Uri && given.toString() !== editor?.document.uri.toString()
      ? await vscode.workspace.openTextDocument(given)
      : editor?.document;
  if (document === undefined || vscode.languages.match(selector, document) === 0) return undefined;
  const position = editor?.document === document ? editor.selection.active : new vscode.Position(0, 0);
  return { uri: document.uri.toString(), diagram: (await graphAt(context, document, position))?.diagram ?? 1 };
}

/** The node that a command is about: the one it was given, else the one at the cursor. */
export async function nodeOf(context: MerrowContext, given: unknown): Promise<string | undefined> {
  const node = typeof given === 'object' && given !== null ? (given as { node?: unknown }).node : undefined;
  if (typeof node === 'string') return node;
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || vscode.languages.match(selector, editor.document) === 0) return undefined;
  const graph = await graphAt(context, editor.document, editor.selection.active);
  const part = graph === undefined ? undefined : partAt(graph, editor.selection.active);
  return part?.kind === 'node' ? part.id : undefined;
}

/** The diagram at a place of a document. */
async function graphAt(context: MerrowContext, document: vscode.TextDocument, position: vscode.Position): Promise<Graph | undefined> {
  const client = await context.readyClient();
  const params = { textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri) }, position };
  return (await client.sendRequest<Graph | null>('merrow/graph', params)) ?? undefined;
}

/** What the server's lenses and hints hand over. */
function namedTarget(given: unknown): Target | undefined {
  if (typeof given !== 'object' || given === null || given instanceof vscode.Uri) return undefined;
  const { uri, diagram } = given as { uri?: unknown; diagram?: unknown };
  return typeof uri === 'string' ? { uri: vscode.Uri.parse(uri).toString(), diagram: typeof diagram === 'number' ? diagram : 1 } : undefined;
}

/** A workflow's name for people. */
export function nameOf({ uri, diagram }: Target): string {
  const path = vscode.Uri.parse(uri).path;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return /\.(?:md|markdown)$/i.test(name) ? `${name}#${diagram}` : name;
}
