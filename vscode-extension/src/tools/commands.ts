import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { execute, type Manner } from '../jobs/execute';
import { setUp } from '../run/access';
import { remedyOf, sentence, toldOf, wasLeft } from '../run/texts/rejection';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import { addServer, addTool } from './adding';
import { differencePage, LOCAL, pulledText, type Item } from './model';
import type { Compared, Pulled } from './protocol';
import type { ToolTree } from './tree';

const ADD = 'Add Tool Server...';

/** What is to be pinned: all tools of a server where none is named. */
interface Wanted {
  readonly uri?: string;
  readonly server: string;
  readonly tools?: readonly string[];
}

/** Pin, compare, trust, forget and add tools: from the tree, the palette and quick fixes. */
export function registerToolCommands(context: MerrowContext, tree: ToolTree): vscode.Disposable {
  const here = (): { readonly uri?: string } => (tree.uri === undefined ? {} : { uri: tree.uri });
  const run = <Answer>(command: string, argument: object, manner: Manner = {}): Promise<Answer> => execute<Answer>(context, command, { ...here(), ...argument }, manner);

  /** Do it; a failure is said, but not that the user left a question. Where packages are missing, they are set up first. */
  const attempt = async (work: () => Promise<unknown>, again = true): Promise<void> => {
    try {
      await work();
    } catch (problem) {
      if (again && remedyOf(problem) === 'tools') {
        if (await setUp(context, Command.setUpTools)) await attempt(work, false);
      } else if (!wasLeft(problem)) void failed(problem);
    } finally {
      tree.soon();
    }
  };

  const pin = async (wanted: Wanted): Promise<void> => {
    const known = await tree.list();
    if (wanted.server !== LOCAL && !known.servers.some(({ name }) => name === wanted.server)) {
      const pressed = await say.warning(`There is no server ${wanted.server}. Add it, then pin its tools.`, ADD);
      if (pressed === ADD && (await addServer(context, wanted.server)) === undefined) return;
      if (pressed !== ADD) return;
    }
    const pulled = await waiting(`Pinning the tools of ${wanted.server}`, (manner) => run<Pulled>('merrow.pullTools', wanted, manner));
    for (const problem of pulled.problems.slice(0, 3)) void say.warning(problem);
    const open = 'Open Pins';
    if ((await say.info(pulledText(pulled), ...(pulled.written ? [open] : []))) === open) await showPin(pulled.pins, pulled.changed[0]?.tool);
  };

  const compare = async (servers: readonly string[]): Promise<void> => {
    const { differs, problems } = await waiting('Comparing tools with their pins', (manner) => run<Compared>('merrow.checkTools', servers.length === 0 ? {} : { servers }, manner));
    if (differs.length > 0) {
      const document = await vscode.workspace.openTextDocument({ content: differencePage(differs), language: 'diff' });
      await vscode.window.showTextDocument(document, { preview: true });
    }
    for (const problem of problems.slice(0, 3)) void say.warning(problem);
    if (differs.length === 0 && problems.length === 0) void say.info('The servers say what is pinned.');
  };

  /** A server from the tree, or one that the user chooses. */
  const chosen = async (given: unknown, title: string, fits: (trust: string) => boolean): Promise<string | undefined> => {
    if (isItem(given)) return given.kind === 'server' ? given.server : given.tool;
    const { servers } = await tree.list();
    const choices = servers.filter(({ trust }) => fits(trust)).map(({ name, source }) => ({ label: name, description: source }));
    if (choices.length === 0) {
      if ((await say.info('There is no such server or tool here.', ADD)) === ADD) await addServer(context);
      return undefined;
    }
    return (await vscode.window.showQuickPick(choices, { title }))?.label;
  };

  const forget = async (given: unknown): Promise<void> => {
    const name = await chosen(given, 'Forget a Server or Tool', (trust) => trust === 'trusted' || trust === 'yours');
    if (name === undefined) return;
    const listed = tree.known;
    if (listed?.servers.find((server) => server.name === name)?.trust === 'yours') {
      const open = 'Open Settings File';
      const pressed = await say.info(`${name} is in your own settings. To remove it, delete [servers.${name}] there.`, open);
      if (pressed === open) await vscode.window.showTextDocument(vscode.Uri.file(listed.settings));
      return;
    }
    const { forgotten } = await run<{ readonly forgotten: number }>('merrow.forgetServer', { name });
    void say.info(forgotten > 0 ? `${name} is not trusted any more.` : `${name} was not trusted.`);
  };

  const showPin = async (file: string, tool: string | undefined): Promise<void> => {
    const editor = await vscode.window.showTextDocument(vscode.Uri.file(file));
    const name = tool?.slice(tool.indexOf('.') + 1);
    const server = tool?.slice(0, tool.indexOf('.'));
    const text = editor.document.getText();
    // Servers are sorted, each with its tools below it.
    const start = text.indexOf(`\n    ${JSON.stringify(server ?? '')}: {`);
    const at = text.indexOf(`\n        ${JSON.stringify(name ?? '')}: {`, Math.max(0, start));
    if (tool === undefined || start < 0 || at < 0) return;
    const place = editor.document.positionAt(at + 9);
    editor.selection = new vscode.Selection(place, place);
    editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.AtTop);
  };

  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.refreshTools, () => { tree.refresh(); }),
    vscode.commands.registerCommand(Command.pinTools, (given: unknown) =>
      attempt(async () => {
        if (isItem(given) && given.kind === 'tool') return pin({ server: given.server, tools: [given.name] });
        const name = await chosen(given, 'Pin the Tools of a Server', (trust) => trust !== 'unusable');
        if (name !== undefined) await pin(name.startsWith(`${LOCAL}.`) ? { server: LOCAL, tools: [name.slice(LOCAL.length + 1)] } : { server: name });
      }),
    ),
    vscode.commands.registerCommand(Command.compareTools, (given: unknown) => attempt(() => compare(isItem(given) ? [given.kind === 'tool' || !given.server.startsWith(`${LOCAL}.`) ? given.server : LOCAL] : []))),
    vscode.commands.registerCommand(Command.trustTools, (given: unknown) =>
      attempt(async () => {
        const name = await chosen(given, 'Trust a Server or Tool of This Workspace', (trust) => trust === 'untrusted');
        if (name !== undefined) await run('merrow.trustServer', { name });
      }),
    ),
    vscode.commands.registerCommand(Command.forgetTools, (given: unknown) => attempt(() => forget(given))),
    vscode.commands.registerCommand(Command.addToolServer, (given: unknown) => attempt(() => addServer(context, isItem(given) ? given.server : undefined, (server) => attempt(() => pin({ server }))))),
    vscode.commands.registerCommand(Command.addTool, () => attempt(() => addTool(context, here()))),
    vscode.commands.registerCommand(Command.openPin, (given: unknown) =>
      attempt(async () => {
        const { pins } = tree.known ?? (await tree.list());
        await showPin(pins, isItem(given) && given.kind === 'tool' ? given.tool : undefined);
      }),
    ),
    // The server's own commands, as its quick fixes have them, begin what the extension's do.
    intercept('merrow.pullTools', (given) => attempt(() => pin(given as Wanted))),
  );
}

/** A failure, with what the server of tools wrote before it ended, where it wrote anything. */
async function failed(problem: unknown): Promise<void> {
  const told = toldOf(problem);
  const show = 'Show What It Wrote';
  if ((await say.error(sentence(problem), ...(told === undefined ? [] : [show]))) !== show) return;
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: told ?? '', language: 'plaintext' }), { preview: true });
}

function waiting<Answer>(title: string, work: (manner: Manner) => Promise<Answer>): Thenable<Answer> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, (_, token) => work({ token }));
}

function isItem(given: unknown): given is Item {
  return typeof given === 'object' && given !== null && 'kind' in given && (given.kind === 'server' || given.kind === 'tool');
}
