/** What a node did in a run, as HTML for the panel. Pure; every text is escaped. */
import { figures } from './figures';
import { answer, callTitle, entryName, messages, originText, valueText } from './pages';
import type { Call, NodeReport, RunReport } from './protocol';

/** The part of the panel that shows one node. `text` is what it has answered so far, while it runs. */
export function nodeHtml(run: string, name: string, report: RunReport | undefined, state: string, text: string): string {
  const node = report?.nodes.find((one) => one.node === name);
  const about = [node?.operator, node?.model, state, figures(node?.usage, node?.seconds)].filter((part) => part).map((part) => escape(String(part)));
  const parts = [`<header><h1>${escape(name)}</h1><p class="about">${about.join(' · ')} · run ${escape(run)}</p></header>`];
  if (node?.error) parts.push(`<p class="failure">${escape(node.error)}</p>`);
  if (typeof node?.case === 'number') parts.push(`<p>Case ${node.case + 1} was chosen.</p>`);
  if (text !== '') parts.push(section('live', 'Answer so far', pre(text), true));
  for (const [port, value] of Object.entries(node?.outputs ?? {})) parts.push(section(`output ${port}`, `Output ${code(port)}`, pre(valueText(value)), true));
  if (node !== undefined) parts.push(...callsHtml(node), memoryHtml(node));
  for (const { step, why } of report?.lost.filter((one) => one.node === name) ?? []) {
    parts.push(`<p class="lost">A call was lost at ${code(step)}: ${escape(why)}</p>`);
  }
  if (node === undefined && text === '') parts.push(`<p class="about">${waitingWords(state)}</p>`);
  return parts.join('\n');
}

function waitingWords(state: string): string {
  if (state === 'waiting') return 'This node waits for what it reads.';
  if (state === 'skipped') return 'This node was skipped.';
  return state === 'running' ? 'No call has finished yet.' : 'The run did not reach this node.';
}

function callsHtml(node: NodeReport): string[] {
  return node.calls.map((call, index) => {
    const about = [originText(call), figures(call.usage, call.seconds)];
    const said = messages(call).map(({ role, content }) => `<h3>${escape(role)}</h3>${pre(content)}`);
    const body = `${said.join('')}<h3>answer</h3>${pre(answer(call))}`;
    const title = `${escape(callTitle(call))} <span class="about">${escape(about.filter((part) => part !== '').join(' · '))}</span>`;
    return section(`call ${keyOf(call)}`, title, body, index === 0, call.usable ? '' : 'unusable');
  });
}

function keyOf(call: Call): string {
  return `${call.step} ${call.sample} ${call.attempt}`;
}

function memoryHtml(node: NodeReport): string {
  if (node.memory.length === 0) return '';
  const entries = node.memory.map((entry) => `<h3>${escape(entryName(entry))}</h3>${pre(valueText(entry['text'] ?? entry))}`);
  return section('memory', `Memory <span class="about">${node.memory.length} entries</span>`, entries.join(''), false);
}

function section(key: string, title: string, body: string, open: boolean, kind = ''): string {
  return `<details class="${kind}" data-key="${escape(key)}"${open ? ' open' : ''}><summary>${title}</summary>${body}</details>`;
}

function pre(text: string): string {
  return text === '' ? '<p class="about">Nothing.</p>' : `<pre tabindex="0">${escape(text)}</pre>`;
}

function code(text: string): string {
  return `<code>${escape(text)}</code>`;
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}
