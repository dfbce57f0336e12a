import * as vscode from 'vscode';
import { lineOf } from './texts/lines';
import type { Happened, LiveRuns } from './live';
import type { RunEvent } from './protocol';

/** The output channel that runs are written to as they go on, answers while they come into being. */
export class RunOutput implements vscode.Disposable {
  private channel: vscode.OutputChannel | undefined;
  private readonly listening: vscode.Disposable;
  /** Whose answer the last line is part of. */
  private speaker = '';
  private atStart = true;

  constructor(live: LiveRuns) {
    this.listening = live.onDidHappen((happened) => {
      this.write(happened);
    });
  }

  show(): void {
    this.made().show(true);
  }

  dispose(): void {
    this.listening.dispose();
    this.channel?.dispose();
  }

  private made(): vscode.OutputChannel {
    return (this.channel ??= vscode.window.createOutputChannel('Merrow Runs'));
  }

  private write({ event }: Happened): void {
    if (event.event === 'node_output') {
      this.answer(event);
      return;
    }
    const line = lineOf(event);
    if (line === undefined) return;
    this.made().append(`${this.atStart ? '' : '\n'}${line}\n`);
    [this.speaker, this.atStart] = ['', true];
  }

  /** Text of an answer; of several nodes at once each continues on a line of its own. */
  private answer({ run, node, step, sample, text = '' }: RunEvent): void {
    const speaker = [run, node, step, sample].join(' ');
    if (speaker !== this.speaker) {
      this.made().append(`${this.atStart ? '' : '\n'}${node ?? ''} | `);
      this.speaker = speaker;
    }
    this.made().append(text);
    this.atStart = text.endsWith('\n');
  }
}
