import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { page, webviewRoot } from '../preview/page';
import { edited, type FromPictures, type Proposal, type ShowPictures } from './proposal';
import { say } from '../say';

export const SCHEME = 'merrow-proposal';
/** Set while there are proposals to choose from, and while their pictures are the active tab. */
const PROPOSALS = 'merrow.proposals';
const ACTIVE = 'merrow.proposalActive';

/** A look at proposals, one after another: the text before and after as a difference, both pictures beside it. */
export class ProposalSession implements vscode.Disposable {
  private readonly panel: vscode.WebviewPanel;
  private readonly disposables: { dispose(): unknown }[] = [];
  private readonly ended = new vscode.EventEmitter<boolean>();
  /** It is over; true where a proposal was applied. */
  readonly onDidEnd = this.ended.event;
  private readonly column: vscode.ViewColumn;
  private over = false;
  private ready = false;
  private shown: ShowPictures | undefined;

  constructor(
    context: MerrowContext,
    private readonly texts: ProposalTexts,
    title: string,
    private readonly proposals: readonly Proposal[],
    private index: number,
  ) {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === this.current.uri);
    this.column = editor?.viewColumn ?? vscode.ViewColumn.One;
    const place = { viewColumn: this.column === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One, preserveFocus: true };
    this.panel = vscode.window.createWebviewPanel('merrow.proposal', title, place, { enableScripts: true, localResourceRoots: [webviewRoot(context.extension)] });
    const icon = (theme: string) => vscode.Uri.joinPath(context.extension.extensionUri, 'media', `preview-${theme}.svg`);
    this.panel.iconPath = { light: icon('light'), dark: icon('dark') };
    this.disposables.push(
      this.ended,
      this.panel.onDidDispose(() => void this.end(false)),
      this.panel.onDidChangeViewState(() => void vscode.commands.executeCommand('setContext', ACTIVE, this.panel.active)),
      this.panel.webview.onDidReceiveMessage((message: FromPictures) => void this.received(message)),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (this.over || contentChanges.length === 0 || document.uri.toString() !== this.current.uri) return;
        void this.end(false);
        vscode.window.setStatusBarMessage('$(info) The text changed, so the proposed changes are out of date.', 8000);
      }),
    );
    this.panel.webview.html = page(this.panel.webview, context.extension, 'proposal');
    void vscode.commands.executeCommand('setContext', PROPOSALS, true);
  }

  /** Show the proposal that is `by` further on. */
  async move(by: number): Promise<void> {
    const { length } = this.proposals;
    this.index = (this.index + by + length) % length;
    const proposal = this.current;
    const uri = vscode.Uri.parse(proposal.uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const after = this.texts.keep(uri, this.index, edited(document.getText(), proposal.edits));
    const options = { preview: true, preserveFocus: true, viewColumn: this.column };
    await vscode.commands.executeCommand('vscode.diff', uri, after, `${proposal.title}: now ↔ after`, options);
    await this.draw(proposal);
  }

  /** Apply the proposal that is shown, as one step that can be undone. */
  async apply(): Promise<void> {
    const proposal = this.current;
    const uri = vscode.Uri.parse(proposal.uri);
    const document = await vscode.workspace.openTextDocument(uri);
    if (document.version !== proposal.version) {
      await this.end(false);
      void say.warning('The text changed meanwhile, so nothing was applied. Ask for the changes again.');
      return;
    }
    this.over = true;
    const change = new vscode.WorkspaceEdit();
    for (const { uri: file, text } of proposal.created) {
      change.createFile(vscode.Uri.parse(file), { contents: new TextEncoder().encode(text), overwrite: false, ignoreIfExists: false });
    }
    change.set(uri, proposal.edits.map(({ range, newText }) => new vscode.TextEdit(rangeOf(range), newText)));
    const done = await vscode.workspace.applyEdit(change);
    this.over = false;
    await this.end(done);
    if (!done) {
      void say.error(`The editor did not apply "${proposal.title}".`);
      return;
    }
    const editor = await vscode.window.showTextDocument(document, { viewColumn: this.column });
    const first = proposal.edits[0];
    if (first !== undefined) editor.revealRange(rangeOf(first.range), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    vscode.window.setStatusBarMessage(`$(check) ${proposal.title}`, 5000);
  }

  /** Close everything; the text is as it was, or as it was made. */
  async end(applied: boolean): Promise<void> {
    if (this.over) return;
    this.over = true;
    for (const name of [PROPOSALS, ACTIVE]) void vscode.commands.executeCommand('setContext', name, false);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME);
    await vscode.window.tabGroups.close(tabs);
    this.ended.fire(applied);
    this.dispose();
  }

  dispose(): void {
    this.over = true;
    for (const part of this.disposables) part.dispose();
    this.panel.dispose();
  }

  private get current(): Proposal {
    const proposal = this.proposals[this.index];
    if (proposal === undefined) throw new Error('There is no such proposal.');
    return proposal;
  }

  private async draw(proposal: Proposal): Promise<void> {
    const { title, effect, added, removed, changed } = proposal;
    const about = { title, effect, details: proposal.details ?? [], added, removed, changed, number: this.index + 1, count: this.proposals.length, canRun: proposal.runBoth !== undefined };
    const pictures = await proposal.pictures().catch((problem: unknown) => ({
      before: '',
      after: '',
      problem: problem instanceof Error ? problem.message : String(problem),
    }));
    if (this.over || proposal !== this.current) return;
    this.shown = { ...about, ...pictures };
    this.post();
  }

  private post(): void {
    if (this.ready && this.shown !== undefined) void this.panel.webview.postMessage(this.shown);
  }

  private async received(message: FromPictures): Promise<void> {
    switch (message) {
      case 'ready':
        this.ready = true;
        this.post();
        return;
      case 'apply':
        return this.apply();
      case 'next':
        return this.move(1);
      case 'previous':
        return this.move(-1);
      case 'runBoth':
        this.current.runBoth?.();
        return;
      case 'cancel':
        return this.end(false);
    }
  }
}

/** The texts after proposals, as documents that can't be changed. */
export class ProposalTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? '';
  }

  keep(of: vscode.Uri, index: number, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: of.path, query: String(index) });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    return uri;
  }

  clear(): void {
    this.texts.clear();
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}

function rangeOf({ start, end }: Proposal['edits'][number]['range']): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
