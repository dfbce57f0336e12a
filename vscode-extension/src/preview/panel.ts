import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { Command } from '../contributed';
import { page, webviewRoot } from './page';
import { partAt, placeOf } from './places';
import { withStale } from './stale';
import type { ExportFormat, FromPreview, Graph, Part, RevisionAct, RunPicture, ToPreview } from './protocol';

export const VIEW_TYPE = 'merrow.preview';

/** Milliseconds after the last keystroke before a diagram is asked for, at least and at most; slow answers wait longer. */
const SHORTEST = 80;
const LONGEST = 1500;
/** Milliseconds after the first keystroke for some time, which is shown at once: what one edit changes comes in several events. */
const FIRST = 5;
/** Milliseconds after an edit in which the cursor moves because somebody types. */
const TYPING = 1000;

const WAITING = "Merrow's language server does not answer; the preview goes on when it does.";

/** The title of the code action that writes the operators of a drawing out. */
const WRITE_OUT = 'Write the operators out';

export interface Selection {
  readonly uri: vscode.Uri;
  readonly diagram: number;
  readonly node: string;
  /** Whether the text took the focus. */
  readonly open: boolean;
}

export interface RevisionChoice {
  readonly uri: vscode.Uri;
  readonly run: string;
  readonly revision: number;
  readonly act: RevisionAct;
}

/** The preview of one document: asks the server for its diagram, has it drawn, and follows the cursor both ways. */
export class PreviewPanel implements vscode.Disposable {
  private readonly disposables: { dispose(): unknown }[] = [];
  private readonly selected = new vscode.EventEmitter<Selection>();
  readonly onDidSelectNode = this.selected.event;
  private readonly decided = new vscode.EventEmitter<RevisionChoice>();
  /** Something is to be done about the revision that is shown. */
  readonly onDidDecide = this.decided.event;
  private graph: Graph | undefined;
  /** What was drawn last: the document's diagram, or what a revision of the run made of it. */
  private posted: Graph | undefined;
  /** The run that was over when the document was edited: from then on the document is drawn. */
  private leftRun: string | undefined;
  private run: RunPicture | undefined;
  /** The diagram that the run is of, once it was seen. */
  private ranOn: Graph | undefined;
  private timer: NodeJS.Timeout | undefined;
  private asking: vscode.CancellationTokenSource | undefined;
  private took = 0;
  private diagram: number | undefined;
  private cursor: vscode.Position | undefined;
  private edited = 0;
  private requests = 0;
  private readonly exports = new Map<number, { resolve: (data: string) => void; reject: (problem: Error) => void }>();
  private ready = false;
  private gone = false;
  /** A picture was drawn; or why none can be. */
  private readonly drawings = new vscode.EventEmitter<string | undefined>();

  constructor(
    private readonly context: MerrowContext,
    readonly panel: vscode.WebviewPanel,
    readonly uri: vscode.Uri,
    diagram: number | undefined,
  ) {
    this.diagram = diagram;
    panel.title = `Preview ${uri.path.slice(uri.path.lastIndexOf('/') + 1)}`;
    const icon = (theme: string) => vscode.Uri.joinPath(context.extension.extensionUri, 'media', `preview-${theme}.svg`);
    panel.iconPath = { light: icon('light'), dark: icon('dark') };
    panel.webview.options = { enableScripts: true, localResourceRoots: [webviewRoot(context.extension)] };
    this.disposables.push(
      this.selected,
      this.decided,
      this.drawings,
      panel.webview.onDidReceiveMessage((message: FromPreview) => { this.received(message); }),
      panel.onDidDispose(() => { this.dispose(); }),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (!this.isOurs(document)) return;
        if (contentChanges.length === 0) {
          // It says that there is something to save, in the midst of what follows on a key.
          if (this.timer === undefined) this.soon();
          return;
        }
        const isFirst = this.timer === undefined && Date.now() - this.edited > LONGEST;
        this.edited = Date.now();
        if (this.run?.isOver === true) this.leftRun = this.run.run;
        this.soon(isFirst ? FIRST : undefined);
      }),
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (this.isOurs(document)) this.soon();
      }),
      vscode.languages.onDidChangeDiagnostics(({ uris }) => {
        // What is asked soon has them already, and need not wait for them.
        if (this.timer === undefined && uris.some((changed) => this.isUri(changed))) this.soon();
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
        if (this.isOurs(textEditor.document) && selections[0] !== undefined) this.moved(selections[0].active);
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor !== undefined && this.isOurs(editor.document)) this.moved(editor.selection.active);
      }),
      context.onDidChangeClient((client) => {
        if (client === undefined) this.say(WAITING);
        else this.soon();
      }),
    );
    const editor = this.editor();
    if (diagram === undefined) this.cursor = editor?.selection.active;
    panel.webview.html = page(panel.webview, context.extension, 'preview');
  }

  /** The number of the diagram in the document; undefined before it is known. */
  get shownDiagram(): number | undefined {
    return this.diagram;
  }

  /** Show the states of a run on the nodes; none takes them away. */
  showRun(run: RunPicture | undefined): void {
    if (run?.run !== this.run?.run) this.ranOn = undefined;
    this.run = run;
    this.postGraph();
    this.postRun();
  }

  toggleTypes(): void {
    this.post({ type: 'types' });
  }

  toggleMemory(): void {
    this.post({ type: 'memory' });
  }

  /** The picture as a file's content: the text of an SVG, or a PNG in base64. Rejects with a sentence. */
  async export(format: ExportFormat): Promise<string> {
    if (!this.ready || this.graph === undefined) await this.firstPicture();
    return new Promise((resolve, reject) => {
      const request = (this.requests += 1);
      this.exports.set(request, { resolve, reject });
      this.post({ type: 'export', request, format });
    });
  }

  dispose(): void {
    if (this.gone) return;
    this.gone = true;
    clearTimeout(this.timer);
    this.asking?.cancel();
    for (const { reject } of this.exports.values()) reject(new Error('The preview was closed.'));
    for (const part of this.disposables) part.dispose();
    this.panel.dispose();
  }

  private firstPicture(): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.drawings.event((problem) => {
        waiting.dispose();
        if (problem === undefined) resolve();
        else reject(new Error(problem));
      });
    });
  }

  private isUri(uri: vscode.Uri): boolean {
    return uri.toString() === this.uri.toString();
  }

  private isOurs(document: vscode.TextDocument): boolean {
    return this.isUri(document.uri);
  }

  private document(): vscode.TextDocument | undefined {
    return vscode.workspace.textDocuments.find((document) => this.isOurs(document));
  }

  private editor(): vscode.TextEditor | undefined {
    const editors = vscode.window.visibleTextEditors.filter(({ document }) => this.isOurs(document));
    return editors.find((editor) => editor === vscode.window.activeTextEditor) ?? editors[0];
  }

  /** What a revision of the run made of the diagram, while that is what is looked at. */
  private revised(): Graph | undefined {
    const { run, graph } = this;
    if (graph === undefined || run?.revised?.diagram !== graph.diagram || this.leftRun === run.run) return undefined;
    const { uri, version, diagram, diagrams, range } = graph;
    return { ...run.revised, uri, version, diagram, diagrams, range };
  }

  /** Have the diagram drawn, where it is another one than before. */
  private postGraph(again = false): void {
    const graph = this.revised() ?? this.graph;
    if (graph === undefined || (!again && graph.text === this.posted?.text)) return;
    this.posted = graph;
    this.post({ type: 'graph', graph });
  }

  private postRun(): void {
    const { run, graph } = this;
    const revised = this.revised();
    if (run !== undefined && revised !== undefined) {
      this.ranOn = revised;
      this.post({ type: 'run', run: run.run, states: [...run.nodes], boxes: [...run.boxes], revision: run.revision ?? null, isOver: run.isOver });
      return;
    }
    const isOfRun = graph !== undefined && this.document()?.version === graph.version && (run?.text ?? graph.text) === graph.text;
    if (run !== undefined && isOfRun) this.ranOn ??= graph;
    const nodes = run === undefined || graph === undefined || this.ranOn === undefined ? run?.nodes : withStale(run.nodes, this.ranOn, graph);
    const states = [...(nodes ?? [])].filter(([, { state }]) => state !== 'gone');
    this.post({ type: 'run', run: run?.run ?? null, states, boxes: [...(run?.boxes ?? [])], revision: run?.revision ?? null, isOver: run?.isOver ?? true });
  }

  private post(message: ToPreview): void {
    if (!this.gone && this.ready) void this.panel.webview.postMessage(message);
  }

  private say(text: string): void {
    this.post({ type: 'notice', text });
    this.drawings.fire(text);
  }

  private received(message: FromPreview): void {
    switch (message.type) {
      case 'ready':
        this.ready = true;
        this.postGraph(true);
        if (this.run !== undefined) this.postRun();
        this.soon(0);
        return;
      case 'drawn':
        this.drawings.fire(undefined);
        return;
      case 'select':
        return void this.select(message.part, message.open);
      case 'exported':
        this.exports.get(message.request)?.resolve(message.data);
        this.exports.delete(message.request);
        return;
      case 'failed':
        this.exports.get(message.request)?.reject(new Error(message.message));
        this.exports.delete(message.request);
        return;
      case 'revision':
        if (this.run !== undefined) this.decided.fire({ uri: this.uri, run: this.run.run, revision: message.revision, act: message.act });
        return;
      case 'drawn as':
        return void (message.act === 'run' ? this.runAsDrawn() : this.writeOut());
      case 'command':
        return void vscode.commands.executeCommand(`merrow.${message.command}`, this.uri);
    }
  }

  private async runAsDrawn(): Promise<void> {
    await vscode.commands.executeCommand(Command.runWorkflow, { uri: this.uri.toString(), diagram: this.graph?.diagram ?? 1 });
  }

  /** Make the edit of the code action that writes the operators of a drawing out. */
  private async writeOut(): Promise<void> {
    const { start } = this.graph?.range ?? { start: { line: 0, character: 0 } };
    const place = new vscode.Range(start.line, start.character, start.line, start.character);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', this.uri, place, 'refactor.rewrite', 100);
    const edit = actions.find(({ title }) => title === WRITE_OUT)?.edit;
    if (edit === undefined) this.say('The operators can\'t be written out here.');
    else await vscode.workspace.applyEdit(edit);
  }

  /** Ask for the diagram once nothing has happened for a moment. */
  private soon(wait = Math.min(Math.max(this.took, SHORTEST), LONGEST)): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.refresh();
    }, wait);
  }

  private async refresh(): Promise<void> {
    const graph = await this.ask();
    if (graph === undefined || this.gone) return;
    this.graph = graph;
    this.diagram = graph.diagram;
    this.postGraph(true);
    if (this.run !== undefined) this.postRun();
    // While somebody types, the picture keeps its place.
    this.follow(false);
  }

  /** The diagram as it is now; undefined where there is none, or another question came meanwhile. */
  private async ask(): Promise<Graph | undefined> {
    this.asking?.cancel();
    const asking = (this.asking = new vscode.CancellationTokenSource());
    try {
      // A file that no editor shows any more is opened again, or the server would not know it.
      if (this.document() === undefined && this.uri.scheme !== 'untitled') await vscode.workspace.openTextDocument(this.uri);
      const client = await this.context.readyClient();
      const params = { textDocument: { uri: client.code2ProtocolConverter.asUri(this.uri) }, ...this.wanted() };
      const since = performance.now();
      const graph = await client.sendRequest<Graph | null>('merrow/graph', params, asking.token);
      if (asking.token.isCancellationRequested) return undefined;
      this.took = performance.now() - since;
      if (graph === null) this.say('There is no diagram in this document any more.');
      return graph ?? undefined;
    } catch (problem) {
      if (!asking.token.isCancellationRequested) {
        this.context.log.debug('merrow/graph:', problem);
        this.say(WAITING);
      }
      return undefined;
    } finally {
      asking.dispose();
    }
  }

  /** Which diagram of the document: where the cursor is, or the one that was shown last. */
  private wanted(): { position: vscode.Position } | { diagram: number } | Record<string, never> {
    if (this.cursor !== undefined) return { position: this.cursor };
    return this.diagram === undefined ? {} : { diagram: this.diagram };
  }

  private moved(position: vscode.Position): void {
    this.cursor = position;
    const graph = this.graph;
    if (graph === undefined) return;
    const { start, end } = graph.range;
    if (graph.diagrams > 1 && (position.line < start.line || position.line > end.line)) this.soon();
    else this.follow(Date.now() - this.edited > TYPING);
  }

  /** Show the part where the cursor is; not while the text has changed since the server was asked. */
  private follow(reveal: boolean): void {
    const [graph, document] = [this.graph, this.document()];
    if (graph === undefined || this.cursor === undefined || document?.version !== graph.version) return;
    this.post({ type: 'cursor', part: partAt(graph, this.cursor) ?? null, reveal });
  }

  private async select(part: Part, open: boolean): Promise<void> {
    let graph = this.graph;
    if (graph !== undefined && this.document()?.version !== graph.version) graph = (await this.ask()) ?? graph;
    const place = graph && placeOf(graph, part);
    if (graph === undefined) return;
    // A node that only a revision of the run has is written nowhere.
    if (part.kind === 'node') this.selected.fire({ uri: this.uri, diagram: graph.diagram, node: part.id, open });
    if (place === undefined) return;
    const range = new vscode.Range(place.start.line, place.start.character, place.end.line, place.end.character);
    const column = this.editor()?.viewColumn ?? (this.panel.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One);
    const editor = await vscode.window.showTextDocument(this.uri, { viewColumn: column, preserveFocus: !open });
    editor.selection = new vscode.Selection(range.start, range.end);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}
