import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { Access } from './access';
import { address, hosted, offline } from './origin';
import { say } from '../say';

/** The commands that set and clear keys and answers. */
export function registerAccessCommands(access: Access, changed: () => void): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.setApiKey, () => setApiKey(access)),
    vscode.commands.registerCommand(Command.clearApiKey, () => clearApiKey(access)),
    vscode.commands.registerCommand(Command.askAgainAboutEndpoints, async () => {
      await access.store.forgetAnswers();
      changed();
    }),
  );
}

async function setApiKey(access: Access): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    void say.warning('Keys can be set once you trust this workspace.');
    return;
  }
  const { endpoint } = await access.decision();
  const given = await vscode.window.showInputBox({
    title: 'Merrow: Set API Key (1 of 2)',
    prompt: 'The endpoint that the key is for. It will be sent nowhere else.',
    value: endpoint === undefined || endpoint === offline.url ? hosted : endpoint,
    ignoreFocusOut: true,
    validateInput: (value) => {
      const found = address(value);
      return 'problem' in found ? `This can't be the endpoint: ${found.problem}` : undefined;
    },
  });
  if (given === undefined) return;
  const found = address(given);
  if ('problem' in found) return;
  const key = await vscode.window.showInputBox({
    title: 'Merrow: Set API Key (2 of 2)',
    prompt: `The API key for ${found.origin}. It is kept in VS Code's secret storage.`,
    password: true,
    ignoreFocusOut: true,
    validateInput: (value) => (/^\S+$/.test(value.trim()) ? undefined : 'A key is one word without blanks.'),
  });
  if (key === undefined) return;
  await access.store.setKey(found.origin, key.trim());
  void say.info(`The API key for ${found.origin} is stored.`);
}

async function clearApiKey(access: Access): Promise<void> {
  const origins = access.store.origins();
  if (origins.length === 0) {
    void say.info('Merrow has no API key stored.');
    return;
  }
  const chosen = origins.length === 1 ? origins[0] : await vscode.window.showQuickPick(origins, { title: 'Clear the API key for' });
  if (chosen === undefined) return;
  await access.store.clearKey(chosen);
  void say.info(`The API key for ${chosen} is gone from the secret storage.`);
}
