import * as vscode from 'vscode';
import type { Manner } from './execute';

/** How a job's share of what is to be done is shown: as a bar, or not at all where its stages each begin at nothing. */
type Shown = 'bar' | 'words';

/** Have a job done with how far it is shown, and a button that stops it; how it ended. */
export async function follow<One>(title: string, begin: (manner: Manner) => Promise<One>, shown: Shown = 'bar'): Promise<One> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, (progress, token) => {
    let before = 0;
    const told = (message: string, percentage: number) => {
      const increment = Math.max(0, percentage - before);
      before += increment;
      progress.report(shown === 'bar' ? { message, increment } : { message });
    };
    return begin({ token, told });
  });
}
