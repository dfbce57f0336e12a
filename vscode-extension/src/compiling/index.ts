import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import { say } from '../say';
import { lineOf, nodeAt, type Program } from './program';

const SCHEME = 'merrow-python';
/** Milliseconds without a keystroke after which the program is made again. */
const QUIET = 500;

interface Target {
  readonly uri: string;
  readonly diagram: number;
}

export function register(context: MerrowContext): vscode.Disposable {
  const programs = new Programs(context);
  return vscode.Disposable.from(
    programs,
    vscode.commands.registerCommand(Command.compileToPython, (given: unknown) => programs.open(given)),
  );
}

/** Workflows as Python programs, each beside its workflow and up to date while it is open. */
class Programs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly targets = new Map<string, Target>();
  private readonly known = new Map<string, Program>();
  private readonly waiting = new Map<string, NodeJS.Timeout>();
  private readonly registrations: vscode.Disposable;

  constructor(private readonly context: MerrowContext) {
    this.registrations = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.renew(event.document.uri.toString());
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.forget(document.uri.toString());
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.kind !== undefined) this.follow(event.textEditor);
      }),
    );
  }

  dispose(): void {
    for (const timer of this.waiting.values()) clearTimeout(timer);
    this.registrations.dispose();
    this.changed.dispose();
  }

  async open(given: unknown): Promise<void> {
    const target = await targetOf(this.context, given);
    if (target === undefined) {
      void say.info(NO_WORKFLOW);
      return;
    }
    try {
      const program = await this.compiled(target);
      const query = new URLSearchParams({ of: target.uri, diagram: String(target.diagram) }).toString();
      const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${program.name}`, query });
      this.targets.set(uri.toString(), target);
      this.known.set(uri.toString(), program);
      this.changed.fire(uri);
      const document = await vscode.workspace.openTextDocument(uri);
      const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
      await vscode.window.showTextDocument(document, options);
    } catch (problem) {
      void say.error(problem instanceof Error ? problem.message : String(problem));
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const key = uri.toString();
    const known = this.known.get(key);
    if (known !== undefined) return known.text;
    const { of, diagram } = Object.fromEntries(new URLSearchParams(uri.query)) as { of?: string; diagram?: string };
    if (of === undefined) return '';
    const target = { uri: of, diagram: Number(diagram ?? 1) };
    this.targets.set(key, target);
    try {
      const program = await this.compiled(target);
      this.known.set(key, program);
      return program.text;
    } catch (problem) {
      return `# ${problem instanceof Error ? problem.message : String(problem)}\n`;
    }
  }

  private async compiled(target: Target): Promise<Program> {
    await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
    const client = await this.context.readyClient();
    return client.sendRequest<Program>('workspace/executeCommand', { command: 'merrow.compile', arguments: [target] });
  }

  /** Make the programs of a workflow again once it was left alone for a moment. One with errors leaves them as they are. */
  private renew(workflow: string): void {
    for (const [key, target] of this.targets) {
      if (target.uri !== workflow) continue;
      clearTimeout(this.waiting.get(key));
      const timer = setTimeout(() => {
        this.compiled(target).then(
          (program) => {
            if (!this.targets.has(key)) return;
            this.known.set(key, program);
            this.changed.fire(vscode.Uri.parse(key));
          },
          () => undefined,
        );
      }, QUIET);
      this.waiting.set(key, timer);
    }
  }

  private forget(key: string): void {
    this.targets.delete(key);
    this.known.delete(key);
    clearTimeout(this.waiting.get(key));
    this.waiting.delete(key);
  }

  /** The cursor is at a node, here or there: show its line in the other document. */
  private follow(editor: vscode.TextEditor): void {
    if (editor !== vscode.window.activeTextEditor) return;
    const here = editor.document.uri.toString();
    const line = editor.selection.active.line;
    for (const [key, target] of this.targets) {
      const program = this.known.get(key);
      if (program === undefined || (here !== key && here !== target.uri)) continue;
      const there = here === key ? target.uri : key;
      const wanted = lineOf(program, nodeAt(program, line, here === key), here !== key);
      const other = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === there);
      if (wanted === undefined || other === undefined) continue;
      const place = new vscode.Position(wanted, 0);
      other.selection = new vscode.Selection(place, place);
      other.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }
}
