import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { picture, root, tokenize, type Scope, type Token } from './tokenizer';

const here = path.join(root, 'test/unit/grammar/samples');
const scopeOf = (file: string): Scope => (file.endsWith('.md') ? 'text.html.markdown' : 'source.mermaid.merrow');

for (const name of readdirSync(here).filter((file) => !file.endsWith('.snap'))) {
  test(`${name} is coloured as in its snapshot`, async () => {
    const { lines } = await tokenize(readFileSync(path.join(here, name), 'utf8'), scopeOf(name));
    const snapshot = path.join(here, `${name}.snap`);
    if (process.env['UPDATE_SNAPSHOTS'] === '1') writeFileSync(snapshot, picture(lines));
    assert.equal(picture(lines), readFileSync(snapshot, 'utf8'));
  });
}

/** The scopes of the first token that is exactly `word`. */
async function scopes(text: string, word: string, scope: Scope = 'source.mermaid.merrow'): Promise<string> {
  const { lines } = await tokenize(text, scope);
  const tokens = lines.flatMap((line): readonly Token[] => line.tokens);
  const found = tokens.find((token) => token.text.trim() === word);
  assert.ok(found !== undefined, `${word} is no token of its own in ${JSON.stringify(tokens.map((token) => token.text))}`);
  return found.scopes.join(' ');
}

test('every kind of arrow is an operator, and what stands around it are nodes', async () => {
  for (const arrow of ['-->', '---', '--x', '--o', '<-->', 'x--x', 'o--o', '==>', '===', '-.->', '-.-', '~~~', '---->', '====>', '-..->']) {
    const text = `flowchart TD\n    A ${arrow} B\n`;
    assert.match(await scopes(text, arrow), /keyword\.operator\.edge/, arrow);
    assert.match(await scopes(text, 'A'), /variable\.other\.node/, arrow);
    assert.match(await scopes(text, 'B'), /variable\.other\.node/, arrow);
  }
});

test('an arrow without blanks around it is one too', async () => {
  assert.match(await scopes('flowchart TD\nA-->B\n', '-->'), /edge/);
  assert.match(await scopes('flowchart TD\nmy-node-->B\n', 'my-node'), /variable\.other\.node/);
});

test('labels in the middle of an arrow', async () => {
  for (const [open, close] of [['--', '-->'], ['==', '==>'], ['-.', '.->']]) {
    const text = `flowchart TD\n    A ${open} Passed ${close} B\n`;
    assert.match(await scopes(text, 'Passed'), /string\.unquoted\.label/);
    assert.match(await scopes(text, close ?? ''), /edge/);
    assert.match(await scopes(text, 'B'), /variable\.other\.node/);
  }
});

test('ports of an edge, with and without the output', async () => {
  assert.match(await scopes('flowchart TD\nA -->|problem| B', 'problem'), /variable\.parameter\.port/);
  const both = 'flowchart TD\nA -->|code:solution| B';
  for (const port of ['code', 'solution']) assert.match(await scopes(both, port), /variable\.parameter\.port/);
  assert.doesNotMatch(await scopes('flowchart TD\nA -->|two words| B', 'two'), /port/);
});

test('an operator and its parameters in a label', async () => {
  const text = `flowchart TD\nP["Programmer<br/>(analysis: 'Go', model: gpt)"]`;
  assert.match(await scopes(text, 'Programmer'), /entity\.name\.type\.operator/);
  for (const key of ['analysis', 'model']) assert.match(await scopes(text, key), /variable\.parameter/);
});

test('front matter is YAML only at the very top', async () => {
  assert.match(await scopes('---\ntitle: x\n---\nflowchart TD', 'x'), /meta\.embedded\.block\.yaml string\.unquoted/);
  assert.match(await scopes('---\ntitle: x\n---\nflowchart TD', 'flowchart'), /^source\.mermaid\.merrow keyword\.control/);
});

test('a fence in Markdown is coloured, with its front matter, and ends where it ends', async () => {
  const text = 'Text\n\n```mermaid\n---\ntitle: x\n---\nflowchart TD\n    A --> B\n```\n\nAFTER *word*\n';
  const at = (word: string) => scopes(text, word, 'text.html.markdown');
  assert.match(await at('x'), /meta\.embedded\.block\.mermaid meta\.embedded\.block\.yaml/);
  assert.match(await at('flowchart'), /meta\.embedded\.block\.mermaid keyword\.control\.diagram/);
  assert.match(await at('-->'), /meta\.embedded\.block\.mermaid keyword\.operator\.edge/);
  assert.doesNotMatch(await at('word'), /mermaid/);
});

test('an unclosed shape, label or string does not swallow the lines below it', async () => {
  for (const broken of ['A[one', 'A(one', 'A{one', 'A -->|label B', 'A -- text', 'A[[one', 'class A', 'A((one']) {
    assert.match(await scopes(`flowchart TD\n    ${broken}\n    CC --> D\n`, 'CC'), /variable\.other\.node/, broken);
  }
});

function workflows(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true }).map(String);
  return names.filter((name) => /(^|\/)[^d][^/]*\.(mmd|mermaid)$/.test(name)).map((name) => path.join(folder, name));
}

test('in every sound workflow at hand all that is opened is closed again', async (context) => {
  const files = [...workflows(path.join(root, '../examples')), ...workflows(path.join(root, '../../shared/corpus'))];
  assert.ok(files.length > 0);
  context.diagnostic(`${files.length} files`);
  for (const file of files) assert.equal((await tokenize(readFileSync(file, 'utf8'), 'source.mermaid.merrow')).depth, 1, file);
});
