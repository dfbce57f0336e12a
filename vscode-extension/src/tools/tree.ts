import * as path from 'node:path';
import * as vscode from 'vscode';
import { Command } from '../contributed';
import { execute } from '../jobs/execute';
import type { MerrowContext } from '../context';
import { sentence } from '../run/texts/rejection';
import { selector } from '../selector';
import { onDidDecide } from './consent';
import { toolTree, type Item } from './model';
import type { Listing } from './protocol';

export const VIEW = 'merrow.toolTree';
/** Milliseconds in which changes are put together. */
const PAUSE = 300;
const MINUTE = 60_000;
const FILES = '**/{merrow.tools.json,.mcp.json,.vscode/mcp.json,tools/*.py}';

/** The servers of tools that workflows of a folder can use: that of the workflow looked at last. */
export class ToolTree implements vscode.TreeDataProvider<Item>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Item>;
  private readonly disposables: { dispose(): unknown }[];
  /** Watches what is outside of the workspace, once the server has said where that is. */
  private outside: vscode.Disposable | undefined;
  private watched = '';
  private timer: NodeJS.Timeout | undefined;
  private stale = false;
  private document: vscode.Uri | undefined;
  private listed: Listing | undefined;

  constructor(private readonly context: MerrowContext) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
    const soon = (): void => { this.soon(); };
    const files = vscode.workspace.createFileSystemWatcher(FILES);
    const clock = setInterval(soon, MINUTE); // Ages are told in minutes.
    this.disposables = [
      this.changed,
      this.view,
      files,
      files.onDidCreate(soon),
      files.onDidChange(soon),
      files.onDidDelete(soon),
      onDidDecide(soon),
      context.onDidChangeClient(soon),
      vscode.window.onDidChangeActiveTextEditor((editor) => { this.look(editor); }),
      this.view.onDidChangeVisibility(({ visible }) => {
        if (visible && this.stale) this.refresh();
      }),
      new vscode.Disposable(() => { clearInterval(clock); }),
    ];
    this.look(vscode.window.activeTextEditor);
  }

  /** What commands name the folder by: the workflow looked at last, else nothing, which is the first folder of the workspace. */
  get uri(): string | undefined {
    return this.document?.toString();
  }

  /** The newest list. Rejects with a sentence. */
  async list(): Promise<Listing> {
    const listed = await execute<Listing>(this.context, 'merrow.tools', this.uri === undefined ? {} : { uri: this.uri });
    this.watch(listed);
    return (this.listed = listed);
  }

  get known(): Listing | undefined {
    return this.listed;
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

  async getChildren(item?: Item): Promise<Item[]> {
    if (item !== undefined) return item.kind === 'server' ? [...item.tools] : [];
    this.view.message = '';
    // Whoever has no workflow open does not start the server by looking at the explorer.
    if (this.context.client() === undefined) return [];
    try {
      const listed = await this.list();
      this.view.message = listed.problems.join('\n');
      return toolTree(listed, Date.now() / 1000);
    } catch (problem) {
      this.view.message = sentence(problem);
      return [];
    }
  }

  getTreeItem(item: Item): vscode.TreeItem {
    const isServer = item.kind === 'server';
    const shown = new vscode.TreeItem(item.label, isServer && item.tools.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
    // The editor keeps what was folded by this: a server whose tools become known is another item, which is open.
    shown.id = isServer ? `server ${item.server}${item.tools.length > 0 ? '' : ' without tools'}` : `tool ${item.tool}`;
    shown.description = item.description;
    shown.tooltip = item.tooltip;
    shown.iconPath = new vscode.ThemeIcon(item.icon.name, item.icon.color === undefined ? undefined : new vscode.ThemeColor(item.icon.color));
    shown.accessibilityInformation = { label: `${item.label}, ${item.description}` };
    shown.contextValue = item.context;
    if (!isServer && !item.context.startsWith('tool.unpinned')) shown.command = { command: Command.openPin, title: 'Open Pin', arguments: [item] };
    return shown;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.outside?.dispose();
    for (const part of this.disposables) part.dispose();
  }

  private look(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.uri.scheme !== 'file' || vscode.languages.match(selector, editor.document) === 0) return;
    const before = this.document;
    this.document = editor.document.uri;
    if (before === undefined || path.dirname(before.fsPath) !== path.dirname(this.document.fsPath)) this.soon();
  }

  /** Another program may change what the user has agreed to, and their settings. */
  private watch({ consents, settings }: Listing): void {
    const files = [consents, settings];
    if (this.watched === files.join('\n')) return;
    this.watched = files.join('\n');
    this.outside?.dispose();
    const watchers = files.map((file) => vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.file(path.dirname(file)), path.basename(file))));
    const soon = (): void => { this.soon(); };
    this.outside = vscode.Disposable.from(...watchers, ...watchers.flatMap((watcher) => [watcher.onDidCreate(soon), watcher.onDidChange(soon), watcher.onDidDelete(soon)]));
  }
}
