/** What a node did in a run, as HTML for the panel. Pure; every text is escaped. */
import { costText, endpointName, figures, modelName, secondsText } from './figures';
import { answer, callTitle, entryName, givenValues, messages, originText, valueText } from './pages';
import type { Progress } from './progress';
import type { Call, NodeReport, RunReport } from './protocol';

/** Says that what is shown is not the newest run of the active file, and leads to that where there is one. */
export function earlierHtml(file: string, run: string, age: string, hasNewer: boolean): string {
  const of = file === '' ? '' : ` of ${escape(file)}`;
  const about = [age, `run ${run}`].filter((part) => part !== '').map(escape).join(' · ');
  const button = hasNewer ? ' <button data-act="newest">Show Newest Run</button>' : '';
  return `<p class="earlier" role="status"><span><strong>Earlier run</strong>${of} <span class="about">${about}</span></span>${button}</p>`;
}

/** A run of this window as a whole, until a node is chosen. */
export function runHtml(file: string, { run, status, endpoint, done, total, usage, seconds, error, outputs }: Progress): string {
  const about = [STATUS[status], `${done} of ${total} nodes`, seconds === undefined ? '' : secondsText(seconds), usage.calls > 0 ? costText(usage) : '', endpointName(endpoint ?? ''), `run ${run}`];
  const parts = [`<header><h1>${escape(file)}</h1><p class="about">${about.filter((part) => part !== '').map(escape).join(' · ')}</p></header>`];
  if (error !== undefined) parts.push(`<p class="failure">${escape(error)}</p>`);
  for (const [name, value] of Object.entries(outputs)) parts.push(section(`output ${name}`, `Result ${code(name)}`, pre(valueText(value)), true));
  parts.push('<p class="about">Click a node in the preview to see what it was given, asked and answered.</p>');
  return parts.join('\n');
}

const STATUS = { running: 'running', finished: 'finished', failed: 'failed', cancelled: 'stopped' } as const;

/** The part of the panel that shows one node. `text` is what it has answered so far, while it runs. */
export function nodeHtml(run: string, name: string, report: RunReport | undefined, state: string, text: string): string {
  // A node's id means its last turn or item, which the report names.
  const node = report?.nodes.find((one) => one.node === name || one.id === name);
  const about = [node?.operator, node && modelName(node), state, figures(node?.usage, node?.seconds)].filter((part) => part).map((part) => escape(String(part)));
  const parts = [`<header><h1>${escape(node?.id ?? name)}</h1><p class="about">${about.join(' · ')} · run ${escape(run)}</p>${canBeSet(node) ? '<button data-act="set">Set Output…</button>' : ''}</header>`];
  if (report?.visits !== undefined) parts.push(visitsHtml(report.visits, node?.node ?? name));
  if (node?.error) parts.push(`<p class="failure">${escape(node.error)}</p>`);
  if (typeof node?.case === 'number') parts.push(`<p>Case ${node.case + 1} was chosen.</p>`);
  if (text !== '') parts.push(section('live', 'Answer so far', pre(text), true));
  if (node?.why_no_call) parts.push(`<p>No call: ${escape(node.why_no_call)}</p>`);
  for (const [index, { port, from, value }] of (node === undefined ? [] : givenValues(node)).entries()) {
    parts.push(section(`input ${port} ${index}`, `Input ${code(port)}<span class="about">${escape(from)}</span>`, pre(valueText(value)), false));
  }
  for (const [port, value] of Object.entries(node?.outputs ?? {})) parts.push(section(`output ${port}`, `Output ${code(port)}`, pre(valueText(value)), true));
  if (node !== undefined) parts.push(...callsHtml(node), memoryHtml(node));
  for (const { step, why } of report?.lost.filter((one) => one.node === (node?.node ?? name)) ?? []) {
    parts.push(`<p class="lost">A call was lost at ${code(step)}: ${escape(why)}</p>`);
  }
  if (node === undefined && text === '') parts.push(`<p class="about">${waitingWords(state)}</p>`);
  return parts.join('\n');
}

/** Whether a node has ended that gives something of its own, which a person may set. */
function canBeSet(node: NodeReport | undefined): boolean {
  return node !== undefined && node.status !== 'unfinished' && (typeof node.operator === 'string' || typeof node.case === 'number') && !node.path.split('/').some((part) => part !== '' && !part.endsWith(']'));
}

/** A picker of the turns and items that a node ran in. */
function visitsHtml(visits: readonly string[], shown: string): string {
  const options = visits.map((visit) => `<option value="${escape(visit)}"${visit === shown ? ' selected' : ''}>${escape(visit.slice(0, Math.max(0, visit.lastIndexOf('/'))))}</option>`);
  return `<p><label>Turn or item <select data-act="visit">${options.join('')}</select></label></p>`;
}

function waitingWords(state: string): string {
  if (state === 'waiting') return 'This node waits for what it reads.';
  if (state === 'skipped') return 'This node was skipped.';
  if (state === 'stopped') return 'The run was stopped before this node finished.';
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
