import * as vscode from 'vscode';
import { say } from '../say';

/** Keep a setting as the user's own. One of the workspace goes before it, which is said. */
export async function store(name: string, value: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration('merrow');
  await settings.update(name, value === '' ? undefined : value, vscode.ConfigurationTarget.Global);
  const found = settings.inspect<string>(name);
  const over = found?.workspaceFolderValue ?? found?.workspaceValue;
  if (over !== undefined && over !== value) void say.info(`Your settings now have it, but this workspace sets merrow.${name} to “${over}”, which goes before.`);
}
