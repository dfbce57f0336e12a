import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { Life } from './supervisor';
import { say } from '../say';

const pythonPage = 'https://www.python.org/downloads/';

/** Tell of a failure, once for each reason in a row, with what helps. */
export class FailureNotice {
  private told: string | undefined;

  tell(life: Life): void {
    if (life.state === 'ready') this.told = undefined;
    if (life.state !== 'failed' || life.reason === this.told) return;
    this.told = life.reason;
    void (life.remedy === 'python' ? noPython(life.reason) : noServer(life.reason));
  }
}

async function noPython(reason: string): Promise<void> {
  const select = 'Select Python…';
  const get = 'Get Python';
  const again = 'Try Again';
  const chosen = await say.error(`Merrow's language server can't start. ${reason}`, select, get, again);
  if (chosen === select) await vscode.commands.executeCommand(Command.selectPython);
  if (chosen === get) await vscode.env.openExternal(vscode.Uri.parse(pythonPage));
  if (chosen === again) await vscode.commands.executeCommand(Command.restartServer);
}

async function noServer(reason: string): Promise<void> {
  const restart = 'Restart';
  const show = 'Show Log';
  const chosen = await say.error(`Merrow's language server failed. ${reason}`, restart, show);
  if (chosen === restart) await vscode.commands.executeCommand(Command.restartServer);
  if (chosen === show) await vscode.commands.executeCommand(Command.showLog);
}
