import * as vscode from 'vscode';
import { compare } from './comparison';
import { nodePage, resultPage, shortName } from './pages';
import type { RunServer } from '../server';
import { sentence } from './rejection';

export const SCHEME = 'merrow-run';
/** Documents that are not in the journal which are kept for reading. */
const MOST_KEPT = 400;

/** Read-only documents about runs. What the journal has is asked of the server when a document is opened. */
export class RunDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly kept = new Map<string, string>();
  private readonly registration: vscode.Disposable;
  private number = 0;

  constructor(private readonly server: RunServer) {
    this.registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const known = this.kept.get(uri.toString());
    if (known !== undefined) return known;
    const { run, node } = Object.fromEntries(new URLSearchParams(uri.query)) as { run?: string; node?: string };
    if (run === undefined) return 'This page is not there any more: it was made for an earlier window.\n';
    try {
      const report = await this.server.show(run, node);
      return node === undefined ? resultPage(report) : nodePage(report, node);
    } catch (problem) {
      return `${sentence(problem)}\n`;
    }
  }

  /** Open the result of a run. */
  async showResult(run: string, workflow: string, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
    const uri = page(`${run}/${stem(workflow)} result.md`, { run });
    this.changed.fire(uri);
    await show(uri, options);
  }

  async showNode(run: string, node: string, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
    const uri = page(`${run}/${node}.md`, { run, node });
    this.changed.fire(uri);
    await show(uri, options);
  }

  /** Open a text under a name that says what it is. */
  async showText(name: string, text: string): Promise<void> {
    await show(this.keep(name.replaceAll(/[\\/]/g, ' '), text), {});
  }

  /** Open a page in Markdown as people read it, beside what they work on. */
  async showRendered(name: string, text: string): Promise<void> {
    await vscode.commands.executeCommand('markdown.showPreviewToSide', this.keep(name, text));
  }

  /** Open a comparison of two runs as people read it. */
  async showBoth(text: string): Promise<void> {
    await vscode.commands.executeCommand('markdown.showPreview', this.keep('Now and after.md', text));
  }

  /** Open two runs beside each other: what each was as a whole, then the nodes, those that differ before the others. */
  async showComparison(first: string, second: string): Promise<void> {
    const reports = await Promise.all([this.server.show(first), this.server.show(second)]);
    // The older one is what the newer one is compared with.
    const [before, after] = reports[0].started <= reports[1].started ? reports : [reports[1], reports[0]];
    const found = compare(before, after);
    const entries: [vscode.Uri, vscode.Uri, vscode.Uri][] = [];
    const add = (name: string, one: string, other: string) => {
      const label = page(name, {});
      // Under one name, or the editor would say that a file was renamed.
      entries.push([label, this.keep(name, one), this.keep(name, other)]);
    };
    add('Run as a whole.txt', found.before, found.after);
    for (const node of found.nodes) if (node.difference !== 'same') add(`${node.node}.md`, node.before, node.after);
    const title = `${shortName(after.workflow)}: earlier run ↔ later run`;
    await vscode.commands.executeCommand('vscode.changes', title, entries);
  }

  /** Open two texts of a workflow beside each other. */
  async showDifference(title: string, before: string, after: string): Promise<void> {
    const name = 'workflow.mmd';
    await vscode.commands.executeCommand('vscode.diff', this.keep(name, before), this.keep(name, after), title, { preview: true });
  }

  /** Open a text beside a document, which can be edited there. */
  async showBeside(name: string, text: string, document: vscode.Uri): Promise<void> {
    const title = `${name} ↔ ${shortName(document.path)}`;
    await vscode.commands.executeCommand('vscode.diff', this.keep(`${name.replaceAll(/[\\/]/g, ' ')}.mmd`, text), document, title, { preview: true });
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  private keep(name: string, text: string): vscode.Uri {
    const uri = page(name, { page: String((this.number += 1)) });
    this.kept.set(uri.toString(), text);
    for (const [oldest] of this.kept) {
      if (this.kept.size <= MOST_KEPT) break;
      this.kept.delete(oldest);
    }
    return uri;
  }
}

function page(name: string, query: Readonly<Record<string, string>>): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: new URLSearchParams(query).toString() });
}

/** A workflow's file name without its ending. */
export function stem(workflow: string): string {
  return shortName(workflow).replace(/\.(?:mmd|mermaid|md|markdown)(?=#|$)/, '').replaceAll('#', ' ');
}

async function show(uri: vscode.Uri, options: vscode.TextDocumentShowOptions): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true, ...options });
}
