import * as vscode from 'vscode';
import { Command } from '../../contributed';
import type { JobDoor } from '../../jobs/door';
import { revisionItem } from '../../revisions/words';
import type { LiveRuns } from '../live';
import type { RunSummary } from '../protocol';
import type { RunServer } from '../server';
import { sentence } from '../texts/rejection';
import { jobTree, nodeItem, runTree, type Item } from './treeModel';

export const VIEW = 'merrow.runs';
/** Runs that the tree has. */
const MOST = 300;
/** Milliseconds in which changes are put together. */
const PAUSE = 300;
const MINUTE = 60_000;

/** The runs of the journal by workflow, each with its nodes. */
export class RunTree implements vscode.TreeDataProvider<Item>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Item>;
  private readonly disposables: { dispose(): unknown }[];
  private timer: NodeJS.Timeout | undefined;
  private readonly clock: NodeJS.Timeout;
  private stale = false;
  /** The newest list, for choosing a run without the tree. */
  private listed: readonly RunSummary[] = [];

  constructor(
    private readonly server: RunServer,
    private readonly doors: readonly JobDoor[],
    live: LiveRuns,
    private readonly active: () => boolean,
  ) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, canSelectMany: true, showCollapseAll: true });
    this.disposables = [
      this.changed,
      this.view,
      live.onDidHappen(({ event }) => {
        if (event.node === null) this.soon();
      }),
      ...doors.map((door) => door.onDidChange(() => { this.soon(); })),
      this.view.onDidChangeVisibility(({ visible }) => {
        if (visible && this.stale) this.refresh();
      }),
    ];
    // Ages are told in minutes.
    this.clock = setInterval(() => { this.soon(); }, MINUTE);
  }

  refresh(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stale = !this.view.visible;
    if (this.view.visible) this.changed.fire(undefined);
  }

  soon(): void {
    this.timer ??= setTimeout(() => { this.refresh(); }, PAUSE);
  }

  /** The runs of the journal, the newest first. Rejects with a sentence. */
  async list(): Promise<readonly RunSummary[]> {
    return (this.listed = await this.server.runs(MOST));
  }

  async getChildren(item?: Item): Promise<Item[]> {
    if (item === undefined) return this.roots();
    if (item.kind === 'workflow') return [...item.runs];
    if (item.kind === 'jobs') return [...item.items];
    if (item.kind !== 'run') return [];
    const { run } = item.summary;
    const { nodes, revisions = [] } = await this.server.show(run);
    return [...revisions.map((one) => revisionItem(run, one)), ...nodes.map((node) => nodeItem(run, node))];
  }

  getTreeItem(item: Item): vscode.TreeItem {
    switch (item.kind) {
      case 'workflow': {
        const shown = new vscode.TreeItem(item.label, vscode.TreeItemCollapsibleState.Expanded);
        shown.id = item.workflow;
        shown.description = item.description;
        shown.tooltip = item.workflow;
        shown.iconPath = new vscode.ThemeIcon('type-hierarchy-sub');
        shown.contextValue = 'workflow';
        return shown;
      }
      case 'run': {
        const shown = new vscode.TreeItem(item.label, vscode.TreeItemCollapsibleState.Collapsed);
        shown.id = item.summary.run;
        shown.description = item.description;
        shown.tooltip = tooltip(item.summary);
        shown.iconPath = icon(item.icon);
        shown.accessibilityInformation = { label: item.spoken };
        shown.contextValue = item.context;
        shown.command = { command: 'merrow.openRun', title: 'Open Result', arguments: [item] };
        return shown;
      }
      case 'jobs': {
        const shown = new vscode.TreeItem(item.label, vscode.TreeItemCollapsibleState.Collapsed);
        shown.id = item.id;
        shown.iconPath = icon(item.icon);
        shown.contextValue = item.id;
        return shown;
      }
      case 'evaluation':
      case 'batch':
      case 'search':
      case 'extraction':
      case 'plan':
      case 'reproduction': {
        const shown = new vscode.TreeItem(item.label, vscode.TreeItemCollapsibleState.None);
        shown.id = `${item.kind} ${item.id}`;
        shown.description = item.description;
        shown.tooltip = item.tooltip;
        shown.iconPath = icon(item.icon);
        shown.accessibilityInformation = { label: item.spoken };
        shown.contextValue = item.context;
        shown.command = { command: Command.openJob, title: 'Open Results', arguments: [item] };
        return shown;
      }
      case 'revision': {
        const shown = new vscode.TreeItem(item.label, vscode.TreeItemCollapsibleState.None);
        shown.id = `${item.run} revision ${item.revision.revision}`;
        shown.description = item.description;
        shown.tooltip = item.tooltip;
        shown.iconPath = icon(item.icon);
        shown.accessibilityInformation = { label: `${item.label}, ${item.description}` };
        shown.contextValue = item.context;
        shown.command = { command: Command.showRevision, title: 'Show Difference', arguments: [item] };
        return shown;
      }
      case 'node': {
        const shown = new vscode.TreeItem(item.node, vscode.TreeItemCollapsibleState.None);
        shown.id = `${item.run}/${item.node}`;
        shown.description = item.description;
        shown.iconPath = icon(item.icon);
        shown.contextValue = 'node';
        shown.command = { command: 'merrow.openRun', title: 'Open', arguments: [item] };
        return shown;
      }
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearInterval(this.clock);
    for (const part of this.disposables) part.dispose();
  }

  private async roots(): Promise<Item[]> {
    this.view.message = '';
    // Whoever has no workflow open does not start the server by looking at the explorer.
    if (!this.active()) return [];
    try {
      const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
      const now = Date.now() / 1000;
      const [runs, jobs] = await Promise.all([this.list(), jobTree(this.doors, MOST, now)]);
      return [...jobs, ...runTree(runs, folders, now)];
    } catch (problem) {
      this.view.message = sentence(problem);
      return [];
    }
  }

  /** A run by its id in the newest list. */
  known(run: string): RunSummary | undefined {
    return this.listed.find((one) => one.run === run);
  }
}

function icon({ name, color }: { readonly name: string; readonly color?: string }): vscode.ThemeIcon {
  return new vscode.ThemeIcon(name, color === undefined ? undefined : new vscode.ThemeColor(color));
}

function tooltip(run: RunSummary): string {
  const begun = new Date(run.started * 1000).toLocaleString();
  const lines = [`Run ${run.run}`, begun];
  if (run.parent !== null) lines.push(`took results over from ${run.parent}`);
  if (run.error !== null) lines.push(run.error);
  return lines.join('\n');
}
