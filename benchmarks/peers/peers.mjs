// Other readers of Mermaid flowcharts in a warm process: {"peer", "text"} in, {"cpu": milliseconds, "ok"} out, a line each.

import { JSDOM } from 'jsdom';

const page = new JSDOM('<!DOCTYPE html><title>peers</title>');
globalThis.window = page.window;
globalThis.document = page.window.document;
for (const level of ['trace', 'debug', 'info', 'log', 'warn', 'error']) console[level] = () => {};

const { default: mermaid } = await import('mermaid');
const { validate } = await import('@probelabs/maid');
mermaid.initialize({ startOnLoad: false, logLevel: 'fatal', maxEdges: 1_000_000, maxTextSize: 100_000_000 });

const PEERS = {
  mermaid: async (text) => Boolean(await mermaid.parse(text, { suppressErrors: true })),
  maid: (text) => validate(text).errors.every((error) => error.severity !== 'error'),
};

let rest = '';
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { peer, text } = JSON.parse(line);
    const start = process.cpuUsage();
    const ok = await PEERS[peer](text);
    const { user, system } = process.cpuUsage(start);
    process.stdout.write(JSON.stringify({ cpu: (user + system) / 1000, ok }) + '\n');
  }
}
