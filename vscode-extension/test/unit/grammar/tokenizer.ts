import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { createOnigScanner, createOnigString, loadWASM } from 'vscode-oniguruma';
import { INITIAL, parseRawGrammar, Registry, type IGrammar, type StateStack } from 'vscode-textmate';

export const root = path.resolve(__dirname, '../../..');
const modules = path.join(root, 'node_modules');
const injected = 'markdown.mermaid.merrow.codeblock';
const files: Record<string, string> = {
  'source.mermaid.merrow': path.join(root, 'syntaxes/mermaid.tmLanguage.json'),
  [injected]: path.join(root, 'syntaxes/markdown.tmLanguage.json'),
  'text.html.markdown': path.join(modules, 'tm-grammars/grammars/markdown.json'),
  'source.yaml': path.join(modules, 'tm-grammars/grammars/yaml.json'),
};

export interface Token {
  readonly start: number;
  readonly text: string;
  readonly scopes: readonly string[];
}

export interface Line {
  readonly text: string;
  readonly tokens: readonly Token[];
}

let registry: Registry | undefined;

async function loaded(): Promise<Registry> {
  if (registry !== undefined) return registry;
  const wasm = readFileSync(path.join(modules, 'vscode-oniguruma/release/onig.wasm'));
  await loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner, createOnigString }),
    loadGrammar: (scope) => {
      const file = files[scope];
      return Promise.resolve(file === undefined ? null : parseRawGrammar(readFileSync(file, 'utf8'), file));
    },
    getInjections: (scope) => (scope === 'text.html.markdown' ? [injected] : undefined),
  });
  return registry;
}

export type Scope = 'source.mermaid.merrow' | 'text.html.markdown';

/** The tokens of a text as an editor colours it, and how deep the rules still nest at its end. */
export async function tokenize(text: string, scope: Scope): Promise<{ lines: Line[]; depth: number }> {
  const grammar: IGrammar | null = await (await loaded()).loadGrammar(scope);
  if (grammar === null) throw new Error(`There is no grammar ${scope}.`);
  let stack: StateStack = INITIAL;
  const lines = text.split('\n').map((line): Line => {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    const tokens = result.tokens.map(({ startIndex, endIndex, scopes }) => ({ start: startIndex, text: line.slice(startIndex, endIndex), scopes }));
    return { text: line, tokens };
  });
  return { lines, depth: stack.depth };
}

/** A text with the two innermost scopes of every token below each line. */
export function picture(lines: readonly Line[]): string {
  const shown: string[] = [];
  for (const { text, tokens } of lines) {
    shown.push(`|${text}`);
    for (const token of tokens) {
      if (token.scopes.length < 2 || token.text.trim() === '') continue;
      shown.push(` ${' '.repeat(token.start)}${'^'.repeat(token.text.length)} ${token.scopes.slice(1).slice(-2).join(' ')}`);
    }
  }
  return `${shown.join('\n')}\n`;
}
