// What the real Mermaid says about a text: a long-lived judge that answers one JSON line with one JSON line.
//
//   {"text": "flowchart TD\n..."}  ->  {"ok", "kind", "error", "line", "structure"}
//   {"label": "a<br/>b"}           ->  {"label": "a<br>b"}     (Mermaid's sanitiser alone)
//
// Any "id" of a request comes back in its answer.

import { JSDOM } from 'jsdom';
import { SourceMap } from './source_map.mjs';

const page = new JSDOM('<!DOCTYPE html><title>judge</title>');
globalThis.window = page.window;
globalThis.document = page.window.document;
for (const level of ['trace', 'debug', 'info', 'log', 'warn', 'error']) console[level] = () => {};

// Both look for a window when they are loaded, so they come after it.
const { default: mermaid } = await import('mermaid');
const { default: purifier } = await import('dompurify');
mermaid.initialize({ startOnLoad: false, logLevel: 'fatal' });

const KINDS = [
  ['lexical', (error) => error.message.startsWith('Lexical error')],
  ['syntax', (error) => error.message.startsWith('Parse error')],
  ['yaml', (error) => error.name === 'YAMLException'],
  ['not-a-diagram', (error) => error.name === 'UnknownDiagramError'],
  ['shape', (error) => error.message.startsWith('No such shape')],
  ['linkstyle', (error) => error.message.includes('linkStyle is out of bounds')],
  ['limit', (error) => error.message.startsWith('Edge limit exceeded')],
  ['internal', (error) => error instanceof TypeError],
];

/** The line, counted from 1 in the input, where the token starts that the parser could not use; null without one. */
function lineOfError(error, text) {
  const told = /^(?:Parse|Lexical) error on line (\d+)/.exec(error.message);
  if (!told) return null;
  const { line, text: token } = error.hash ?? {};
  const lineAfterToken = Number.isInteger(line) ? line + 1 : Number(told[1]);
  const breaksInToken = (token ?? '').split('\n').length - 1;
  return new SourceMap(text).inputLine(Math.max(1, lineAfterToken - breaksInToken));
}

function refusal(thrown, text) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown?.message ?? thrown));
  const kind = KINDS.find(([, matches]) => matches(error))?.[0] ?? 'other';
  return { ok: false, kind, error: error.message, line: lineOfError(thrown, text), structure: null };
}

/** Entities travel through Mermaid's parser as placeholders; write them as in the source. */
function readable(value) {
  if (typeof value !== 'string') return value ?? null;
  return value.replace(/\uFB02\u00B0{1,2}(\w+)\u00B6\u00DF/g, '#$1;');
}

function structureOf(database) {
  const vertices = Array.from(database.getVertices().values(), (vertex) => ({
    id: readable(vertex.id),
    text: readable(vertex.text),
    shape: vertex.type ?? null,
    classes: (vertex.classes ?? []).map(readable),
  }));
  const edges = database.getEdges().map((edge) => ({
    from: readable(edge.start),
    to: readable(edge.end),
    text: readable(edge.text),
    type: edge.type ?? null,
    stroke: edge.stroke ?? null,
  }));
  const subgraphs = database.getSubGraphs().map((subgraph) => ({
    id: readable(subgraph.id),
    title: readable(subgraph.title),
    nodes: Array.from(subgraph.nodes, readable),
  }));
  return { direction: database.getDirection() ?? null, vertices, edges, subgraphs };
}

async function judge(text) {
  try {
    // Only a whole parse looks at the configuration that a text carries; others are spared the second reading.
    if (/config|%%\{/.test(text)) await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    if (typeof db.getVertices !== 'function') {
      return { ok: false, kind: 'not-a-diagram', error: 'another kind of diagram', line: null, structure: null };
    }
    return { ok: true, kind: null, error: null, line: null, structure: structureOf(db) };
  } catch (thrown) {
    return refusal(thrown, text);
  }
}

/** Mermaid purifies a label twice, the second time without `style` elements. */
const purify = (label) => label && purifier.sanitize(purifier.sanitize(label), { FORBID_TAGS: ['style'] });

async function answer(request) {
  const { id, text, label } = request;
  const said = text === undefined ? { label: purify(label) } : await judge(text);
  return id === undefined ? said : { id, ...said };
}

/** An answer as JSON. Aliases in metadata can make a label that contains itself: Mermaid takes it, JSON does not. */
function written(said) {
  try {
    return JSON.stringify(said);
  } catch (error) {
    return JSON.stringify({ ok: false, kind: 'internal', error: String(error), line: null, structure: null });
  }
}

// JSON strings may hold U+2028, at which node:readline would cut: lines are cut here, at line feeds alone.
async function* lines(stream) {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const pieces = (rest + chunk).split('\n');
    rest = pieces.pop();
    yield* pieces;
  }
  if (rest) yield rest;
}

await mermaid.parse('flowchart TD\nA');
await mermaid.mermaidAPI.getDiagramFromText('flowchart TD\nA["<a target=x>x</a>"]');
for await (const line of lines(process.stdin)) {
  if (line) process.stdout.write(written(await answer(JSON.parse(line))) + '\n');
}
