import * as vscode from 'vscode';
import { Command } from '../../contributed';
import type { MerrowContext } from '../../context';
import { itemText } from './itemText';
import type { LiveRun, LiveRuns } from '../live';

/** Milliseconds that the end of a run that went well stays in the status bar. */
const LINGERS = 20_000;

/** The status bar's item: how far the newest run is and what it has cost; later, that it can be resumed. */
export class RunStatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('merrow.run', vscode.StatusBarAlignment.Left, 10);
  private readonly listening: vscode.Disposable;
  private busy: vscode.Disposable | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: MerrowContext,
    private readonly live: LiveRuns,
  ) {
    this.item.name = 'Merrow Run';
    this.item.command = Command.runMenu;
    this.listening = live.onDidHappen(({ run, event }) => {
      if (event.event !== 'node_output') this.show(run);
    });
  }

  hide(): void {
    clearTimeout(this.timer);
    this.item.hide();
  }

  dispose(): void {
    this.hide();
    this.busy?.dispose();
    this.listening.dispose();
    this.item.dispose();
  }

  private show(changed: LiveRun): void {
    clearTimeout(this.timer);
    const { running } = this.live;
    const run = running.at(-1) ?? changed;
    const { text, tooltip } = itemText(run.progress, running.length);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.show();
    if (running.length > 0) this.busy ??= this.context.busy('running');
    else {
      this.busy?.dispose();
      this.busy = undefined;
      if (run.progress.status === 'finished') this.timer = setTimeout(() => { this.hide(); }, LINGERS);
    }
  }
}
