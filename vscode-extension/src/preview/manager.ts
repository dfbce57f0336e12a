import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { hasMermaidFence } from '../fences';
import { PreviewPanel, type RevisionChoice, type Selection, VIEW_TYPE } from './panel';
import type { ExportFormat, RunPicture, PreviewState } from './protocol';
import { say } from '../say';

/** Set while the active editor is of Markdown with a diagram, for the button in its title. */
const HAS_DIAGRAM = 'merrow.hasDiagram';
/** Set while a preview is the active tab. */
const PREVIEW_ACTIVE = 'merrow.previewActive';
/** Characters of a Markdown file that are looked at for a fence. */
const LOOKED_AT = 500_000;

/** All previews: one for each document. Other parts of the extension show runs in them and hear which node was chosen. */
export class PreviewManager implements vscode.Disposable {
  private readonly panels = new Map<string, PreviewPanel>();
  private readonly runs = new Map<string, RunPicture>();
  private readonly selected = new vscode.EventEmitter<Selection>();
  /** A node was chosen in a preview, by click or key. */
  readonly onDidSelectNode = this.selected.event;
  private readonly decided = new vscode.EventEmitter<RevisionChoice>();
  /** Something is to be done about a revision that a preview shows. */
  readonly onDidDecide = this.decided.event;
  private readonly activated = new vscode.EventEmitter<vscode.Uri>();
  /** The preview of a document became the active tab. */
  readonly onDidActivate = this.activated.event;
  private readonly disposables: { dispose(): unknown }[] = [this.selected, this.decided, this.activated];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly context: MerrowContext) {
    const command = (name: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(`merrow.${name}`, act);
    this.disposables.push(
      command('showPreview', (uri) => this.show(uri instanceof vscode.Uri ? uri : undefined)),
      command('showTypesInPreview', () => this.active()?.toggleTypes()),
      command('showMemoryInPreview', () => this.active()?.toggleMemory()),
      command('exportSvg', (uri, target) => this.export('svg', uri, target)),
      command('exportPng', (uri, target) => this.export('png', uri, target)),
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: (panel, state: Partial<PreviewState> | undefined) => {
          if (state?.uri === undefined) panel.dispose();
          else this.adopt(panel, vscode.Uri.parse(state.uri), state.diagram);
          return Promise.resolve();
        },
      }),
      vscode.window.onDidChangeActiveTextEditor(() => { this.look(); }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === vscode.window.activeTextEditor?.document && document.languageId === 'markdown') this.lookSoon();
      }),
      vscode.workspace.onDidCloseTextDocument((document) => this.runs.delete(document.uri.toString())),
    );
    this.look();
  }

  /** Open or bring to the front the preview of a document, by default the active one. */
  show(given?: vscode.Uri): PreviewPanel | undefined {
    const uri = given ?? this.previewed() ?? vscode.window.activeTextEditor?.document.uri;
    if (uri === undefined) {
      void say.info('Open a Mermaid file, or a Markdown file with a mermaid block, to preview it.');
      return undefined;
    }
    const known = this.panels.get(uri.toString());
    if (known !== undefined) {
      known.panel.reveal(undefined, true);
      return known;
    }
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    // What is hidden keeps its picture: a large one takes seconds to draw.
    const panel = vscode.window.createWebviewPanel(VIEW_TYPE, 'Preview', column, { retainContextWhenHidden: true });
    return this.adopt(panel, uri, undefined);
  }

  /** Show a run on the preview of a document, now and when it is opened; undefined takes it away. */
  showRun(uri: vscode.Uri, run: RunPicture | undefined): void {
    const key = uri.toString();
    if (run === undefined) this.runs.delete(key);
    else this.runs.set(key, run);
    this.panels.get(key)?.showRun(run);
  }

  /** Whether a document has a preview. */
  has(uri: vscode.Uri): boolean {
    return this.panels.has(uri.toString());
  }

  /** What the preview that is the active tab shows. */
  shown(): { readonly uri: vscode.Uri; readonly diagram: number | undefined } | undefined {
    const uri = this.previewed();
    return uri && { uri, diagram: this.panels.get(uri.toString())?.shownDiagram };
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const panel of [...this.panels.values()]) panel.dispose();
    for (const part of this.disposables) part.dispose();
  }

  private adopt(webview: vscode.WebviewPanel, uri: vscode.Uri, diagram: number | undefined): PreviewPanel {
    const key = uri.toString();
    const panel = new PreviewPanel(this.context, webview, uri, diagram);
    this.panels.set(key, panel);
    panel.onDidSelectNode((selection) => { this.selected.fire(selection); });
    panel.onDidDecide((choice) => { this.decided.fire(choice); });
    webview.onDidChangeViewState(() => {
      this.activeChanged();
      if (webview.active) this.activated.fire(uri);
    });
    webview.onDidDispose(() => {
      this.panels.delete(key);
      this.activeChanged();
    });
    const run = this.runs.get(key);
    if (run !== undefined) panel.showRun(run);
    return panel;
  }

  private activeChanged(): void {
    void vscode.commands.executeCommand('setContext', PREVIEW_ACTIVE, this.previewed() !== undefined);
  }

  /** The document of the preview that is the active tab. */
  private previewed(): vscode.Uri | undefined {
    return [...this.panels.values()].find(({ panel }) => panel.active)?.uri;
  }

  private active(): PreviewPanel | undefined {
    const uri = this.previewed() ?? vscode.window.activeTextEditor?.document.uri;
    const visible = [...this.panels.values()].filter(({ panel }) => panel.visible);
    return (uri && this.panels.get(uri.toString())) ?? visible[0];
  }

  /** Save the picture; `target` is where, the user is asked without one. */
  private async export(format: ExportFormat, given: unknown, target: unknown): Promise<vscode.Uri | undefined> {
    const uri = given instanceof vscode.Uri ? given : (this.previewed() ?? vscode.window.activeTextEditor?.document.uri);
    const panel = this.show(uri);
    if (panel === undefined) return undefined;
    try {
      const proposed = panel.uri.with({
        scheme: panel.uri.scheme === 'untitled' ? 'file' : panel.uri.scheme,
        path: `${panel.uri.path.replace(/\.[^./]*$/, '')}.${format}`,
      });
      const filters = format === 'svg' ? { 'SVG picture': ['svg'] } : { 'PNG picture': ['png'] };
      const place = target instanceof vscode.Uri ? target : await vscode.window.showSaveDialog({ defaultUri: proposed, filters });
      if (place === undefined) return undefined;
      const title = `Drawing ${format.toUpperCase()}`;
      const data = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () => panel.export(format));
      await vscode.workspace.fs.writeFile(place, Buffer.from(data, format === 'svg' ? 'utf8' : 'base64'));
      return place;
    } catch (problem) {
      void say.error(`The picture was not saved: ${problem instanceof Error ? problem.message : String(problem)}`);
      return undefined;
    }
  }

  private lookSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.look(); }, 400);
  }

  private look(): void {
    const document = vscode.window.activeTextEditor?.document;
    const has = document?.languageId === 'markdown' && hasMermaidFence(document.getText().slice(0, LOOKED_AT));
    void vscode.commands.executeCommand('setContext', HAS_DIAGRAM, has);
  }
}
