import * as vscode from 'vscode';
import { Command } from './contributed';
import type { Activity } from './context';
import { plain } from './plain';
import { selector } from './selector';
import { shownStatus } from './statusText';
import type { Life } from './server/supervisor';

/** The status item of Merrow's documents: the server's life, and what goes on. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem('merrow.server', selector);
  private readonly going = new Map<symbol, { kind: Activity; detail: string | undefined }>();
  private life: Life = { state: 'stopped' };
  private timer: NodeJS.Timeout | undefined;

  constructor() {
    this.item.name = 'Merrow';
    this.item.command = { command: Command.showServerInfo, title: 'Server Info' };
    this.show();
  }

  set(life: Life): void {
    this.life = life;
    this.show();
  }

  /** Something goes on until the answer is disposed of; what is over at once is not shown. */
  busy(kind: Activity, detail?: string): vscode.Disposable {
    const key = Symbol(kind);
    this.going.set(key, { kind, detail });
    this.soon();
    return new vscode.Disposable(() => {
      this.going.delete(key);
      this.soon();
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.item.dispose();
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.show();
    }, 250);
  }

  private show(): void {
    const shown = shownStatus(this.life, [...this.going.values()]);
    this.item.text = plain(shown.text);
    this.item.detail = plain(shown.detail);
    this.item.busy = shown.busy;
    this.item.severity = vscode.LanguageStatusSeverity[shown.severity];
    this.item.command = shown.failed
      ? { command: Command.showLog, title: 'Show Log' }
      : { command: Command.showServerInfo, title: 'Server Info' };
  }
}
