import * as vscode from 'vscode';

/** A report that the server makes as a page without scripts. */
interface HtmlReport {
  readonly id: string;
  readonly title: string;
  readonly html: string;
}

/** The reports of the jobs of a kind, a page for each, renewed when one began or ended. */
export class HtmlReports implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly viewType: string,
    server: { readonly onDidChange: vscode.Event<undefined> },
    private readonly report: (id: string) => Promise<HtmlReport>,
  ) {
    this.listening = server.onDidChange(() => {
      for (const id of this.panels.keys()) void this.renew(id);
    });
  }

  /** Open a report, or bring it to the front. */
  async show(given: string): Promise<void> {
    const { id, title, html } = await this.report(given);
    let panel = this.panels.get(id);
    if (panel === undefined) {
      const options = { enableScripts: false, enableFindWidget: true, localResourceRoots: [] };
      panel = vscode.window.createWebviewPanel(this.viewType, title, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, options);
      this.panels.set(id, panel);
      panel.onDidDispose(() => this.panels.delete(id));
    } else panel.reveal(undefined, true);
    panel.webview.html = html;
  }

  dispose(): void {
    this.listening.dispose();
    for (const panel of this.panels.values()) panel.dispose();
  }

  private async renew(id: string): Promise<void> {
    const report = await this.report(id).catch(() => undefined);
    const panel = this.panels.get(id);
    // Without an answer there is no server now: what is shown stays.
    if (panel !== undefined && report !== undefined) panel.webview.html = report.html;
  }
}
