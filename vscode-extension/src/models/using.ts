import * as vscode from 'vscode';
import { store } from '../answering/settings';
import { Command, Setting } from '../contributed';
import type { MerrowContext } from '../context';
import { plain } from '../plain';
import { sentence } from '../run/texts/rejection';
import { say } from '../say';
import { choices, usedSentence, type Place, type Used } from './served';

/** Looking for model servers, and using a model of one: only ever what a user chose. */
export function registerUsing(context: MerrowContext): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.findModels, () => guarded(() => choose(context))),
    vscode.commands.registerCommand(Command.useFoundModel, (url?: unknown, model?: unknown) =>
      guarded(() => (typeof url === 'string' ? use(context, url, typeof model === 'string' ? model : undefined) : choose(context))),
    ),
  );
}

async function guarded(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (problem) {
    void say.error(sentence(problem));
  }
}

async function choose(context: MerrowContext): Promise<void> {
  const client = await context.readyClient();
  const options = { location: vscode.ProgressLocation.Window, title: 'Looking for models' };
  const request = { command: 'merrow.models', arguments: [] };
  const { endpoints } = await vscode.window.withProgress(options, () => client.sendRequest<{ readonly endpoints: readonly Place[] }>('workspace/executeCommand', request));
  if (endpoints.length === 0) {
    void say.info('No endpoint is set, and no model server was found on this machine. Start Ollama, LM Studio, llama.cpp, vLLM or LiteLLM, then look again.');
    return;
  }
  const items = choices(endpoints).map((choice) => ({ ...choice, label: plain(choice.label), description: plain(choice.description) }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'Merrow: Use This Model', placeHolder: 'The model that runs ask, where a workflow names none', matchOnDescription: true });
  if (chosen?.model !== undefined) await use(context, chosen.url, chosen.model);
}

/** Have it written into the user's own `config.toml`. Settings of the editor would go before that: they are cleared. */
async function use(context: MerrowContext, url: string, model: string | undefined): Promise<void> {
  const client = await context.readyClient();
  const used = await client.sendRequest<Used>('workspace/executeCommand', { command: 'merrow.useModel', arguments: [{ url, ...(model === undefined ? {} : { model }) }] });
  const settings = vscode.workspace.getConfiguration('merrow');
  let { note } = used;
  for (const name of [Setting.endpoint, Setting.model]) {
    if (settings.get(name, '').trim() === '') continue;
    await store(name, '');
    note = ''; // It was about what the editor had set.
  }
  void say.info(usedSentence({ ...used, note }));
}
