import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { inputsOf, type Input } from '../run/inputs';
import type { Target } from '../run/protocol';
import type { RunServer } from '../run/server';
import type { SetFiles } from './sets';
import { ENDING } from './setsText';

const DOCUMENTS: vscode.DocumentFilter = { pattern: `**/*${ENDING}` };

/** Files of input sets in the editor: each set is run from a lens, names of inputs are completed, what is wrong is said. */
export class SetEditing implements vscode.CodeLensProvider, vscode.CompletionItemProvider, vscode.Disposable {
  private readonly problems = vscode.languages.createDiagnosticCollection('merrow.inputs');
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly context: MerrowContext,
    private readonly files: SetFiles,
    private readonly server: RunServer,
  ) {
    this.disposables = [
      this.problems,
      this.changed,
      vscode.languages.registerCodeLensProvider(DOCUMENTS, this),
      vscode.languages.registerCompletionItemProvider(DOCUMENTS, this),
      vscode.workspace.onDidGrantWorkspaceTrust(() => { this.changed.fire(); }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => { this.problems.delete(uri); }),
    ];
  }

  /** A lens above each set. What is wrong with the file is found on the way. */
  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const target = await this.files.workflowOf(document.uri);
    if (target === undefined) return [];
    const { sets, problem } = await this.files.readText(document.getText());
    const at = (line: number) => document.lineAt(Math.min(line, document.lineCount - 1)).range;
    const found = problem === null ? [] : [diagnostic(at(problem.line), problem.message, vscode.DiagnosticSeverity.Error)];
    const names = new Set((await this.inputs(target)).map(({ name }) => name));
    for (const { name, line, inputs } of sets) {
      const strange = Object.keys(inputs).filter((input) => names.size > 0 && !names.has(input));
      if (strange.length > 0) found.push(diagnostic(at(line), `The workflow has no input ${strange.join(', ')}; it has ${[...names].join(', ')}. (Set ${name})`, vscode.DiagnosticSeverity.Warning));
    }
    this.problems.set(document.uri, found);
    if (!this.context.trusted()) return [];
    return sets.map(({ name, line }) => new vscode.CodeLens(at(line), { title: '▶ Run with this set', command: Command.runWithSet, arguments: [{ ...target, set: name }] }));
  }

  /** The inputs that a set does not have yet. */
  async provideCompletionItems(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.CompletionItem[]> {
    const before = document.lineAt(position.line).text.slice(0, position.character);
    const target = /^[ \t]+\w*$/.test(before) ? await this.files.workflowOf(document.uri) : undefined;
    if (target === undefined) return [];
    return (await this.inputs(target)).map(({ name, title, type }) => {
      const item = new vscode.CompletionItem(name, vscode.CompletionItemKind.Property);
      item.detail = title === name ? type : `${title}: ${type}`;
      item.insertText = new vscode.SnippetString().appendText(`${name}: `).appendTabstop();
      return item;
    });
  }

  dispose(): void {
    for (const part of this.disposables) part.dispose();
  }

  /** The inputs of a workflow; none where it has none that can be told. */
  private async inputs(target: Target): Promise<readonly Input[]> {
    try {
      await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
      return inputsOf(await this.server.graph(target));
    } catch {
      return [];
    }
  }
}

function diagnostic(range: vscode.Range, message: string, severity: vscode.DiagnosticSeverity): vscode.Diagnostic {
  const found = new vscode.Diagnostic(range, message, severity);
  found.source = 'merrow';
  return found;
}
