import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { execute } from '../jobs/execute';
import { say } from '../say';
import { commandWords } from './model';

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const TOOL = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const PIN = 'Pin Its Tools';

interface Added {
  readonly name: string;
  readonly settings: string;
  readonly notes: readonly string[];
}

interface Way extends vscode.QuickPickItem {
  readonly way: 'program' | 'address' | 'vscode' | 'cursor' | 'claude' | 'file';
}

const WAYS: readonly Way[] = [
  { way: 'program', label: '$(terminal) A Program', detail: 'A command that Merrow starts, such as npx -y @modelcontextprotocol/server-filesystem ~/notes' },
  { way: 'address', label: '$(globe) An Address', detail: 'A server that speaks streamable HTTP, such as https://shop.example/mcp' },
  { way: 'vscode', label: '$(copy) A Server of Visual Studio Code', detail: 'Copied from its mcp.json' },
  { way: 'cursor', label: '$(copy) A Server of Cursor', detail: 'Copied from its mcp.json' },
  { way: 'claude', label: '$(copy) A Server of Claude', detail: 'Copied from its settings' },
  { way: 'file', label: '$(file) A Server of a File...', detail: 'Copied from a file such as mcp.json' },
];

/** Add a server to the user's own settings; its name, undefined where they leave it. `pin` pins its tools if they want. Rejects with a sentence. */
export async function addServer(context: MerrowContext, name?: string, pin?: (server: string) => Promise<void>): Promise<string | undefined> {
  const title = 'Add a Server of Tools to Your Settings';
  const way = await vscode.window.showQuickPick(WAYS, { title, placeHolder: 'What is the server?' });
  if (way === undefined) return undefined;
  const named = await vscode.window.showInputBox({
    title,
    prompt: way.way === 'program' || way.way === 'address' ? 'A name, which workflows put before the names of its tools' : 'Its name there',
    value: name ?? '',
    validateInput: (text) => (NAME.test(text.trim()) ? undefined : 'Use letters, digits, _ and -.'),
  });
  if (named === undefined) return undefined;
  const said = await whatItIs(way.way, title);
  if (said === undefined) return undefined;
  const added = await execute<Added>(context, 'merrow.addServer', { name: named.trim(), ...said });
  for (const note of added.notes) void say.warning(note);
  if (pin === undefined) void say.info(`${added.name} is in your settings now.`);
  else if ((await say.info(`${added.name} is in your settings now.`, PIN)) === PIN) await pin(added.name);
  return added.name;
}

async function whatItIs(way: Way['way'], title: string): Promise<object | undefined> {
  if (way === 'program') {
    const line = await vscode.window.showInputBox({
      title,
      prompt: 'The command that starts it. Keys belong into environment variables, not here',
      placeHolder: 'npx -y some-server "an argument with spaces"',
      validateInput: (text) => (commandWords(text) === undefined ? 'A quote is not closed.' : text.trim() === '' ? 'Enter a command.' : undefined),
    });
    if (line === undefined) return undefined;
    const variables = await vscode.window.showInputBox({ title, prompt: 'Names of environment variables that it gets beside PATH, HOME and LANG, separated by spaces', placeHolder: 'None' });
    return variables === undefined ? undefined : { command: commandWords(line), env: variables.split(/[\s,]+/).filter((word) => word !== '') };
  }
  if (way === 'address') {
    const url = await vscode.window.showInputBox({ title, prompt: 'Its address', placeHolder: 'https://shop.example/mcp', validateInput: (text) => (/^https?:\/\/\S+$/.test(text.trim()) ? undefined : 'Enter an address that begins with https:// or http://.') });
    return url === undefined ? undefined : { url: url.trim() };
  }
  if (way !== 'file') return { from: way };
  const [file] = (await vscode.window.showOpenDialog({ title, canSelectMany: false, filters: { JSON: ['json'] } })) ?? [];
  return file === undefined ? undefined : { from: file.fsPath };
}

/** Write the file of a new tool, and open it. Rejects with a sentence. */
export async function addTool(context: MerrowContext, here: { readonly uri?: string }): Promise<void> {
  const name = await vscode.window.showInputBox({ title: 'New Tool', prompt: 'A name for a Python function, which is written to the folder tools', placeHolder: 'convert_units', validateInput: (text) => (TOOL.test(text.trim()) ? undefined : 'Use letters, digits and _.') });
  if (name === undefined) return;
  const made = await execute<{ readonly uri: string }>(context, 'merrow.newTool', { ...here, name: name.trim() });
  await vscode.window.showTextDocument(vscode.Uri.parse(made.uri));
}
