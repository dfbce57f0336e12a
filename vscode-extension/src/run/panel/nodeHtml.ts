/** What a node did in a run, as HTML for the panel. Pure; every text is escaped. */
import { stoppedTexts } from '../texts/loops';
import { attemptText, costText, figures, modelName, offlineName, secondsText } from '../texts/figures';
import { escape } from './markdownHtml';
import { ONCE, answer, callTitle, entryName, givenValues, isOnce, messages, originText, shownCalls, valueText, verdictTitle } from '../texts/pages';
import { episodesHtml } from './episodeHtml';
import { revisionItem } from '../../revisions/words';
import type { NodeStep } from '../progress';
import type { Call, Episode, NodeReport, Revision, RunReport, RunStatus, Usage, Values, Verdict } from '../protocol';
import { valueHtml, type Text } from './valueHtml';

/** The texts of the values on a page, by the keys that its buttons have. */
type Texts = Map<string, Text>;

/** Says that what is shown is not the newest run of the active file, and leads to that where there is one. */
export function earlierHtml(file: string, run: string, age: string, hasNewer: boolean): string {
  const of = file === '' ? '' : ` of ${escape(file)}`;
  const about = [age, `run ${run}`].filter((part) => part !== '').map(escape).join(' · ');
  const button = hasNewer ? ' <button data-act="newest">Show Newest Run</button>' : '';
  return `<p class="earlier" role="status"><span><strong>Earlier run</strong>${of} <span class="about">${about}</span></span>${button}</p>`;
}

/** Sentences on Loops that stopped, at most. */
const MOST_STOPPED = 8;

/** A run as a whole: of its events while it goes on, of the journal later. */
export interface WholeRun {
  readonly run: string;
  readonly status: RunStatus;
  readonly done: number;
  readonly total: number;
  readonly seconds: number | undefined;
  readonly usage: Usage;
  readonly error: string | undefined;
  readonly outputs: Values;
  /** The endpoint that the run asks, or who answered it, in words. */
  readonly by: string;
  /** A sentence on each Loop that stopped although it wanted another turn. */
  readonly stopped: readonly string[];
  readonly revisions: readonly Revision[];
  /** Of a run that goes on, what is known of them. */
  readonly episodes?: readonly Episode[] | undefined;
}

/** A run of the journal as a whole. */
export function wholeOf(report: RunReport): WholeRun {
  const ended = report.nodes.filter(({ status }) => status !== 'unfinished').length;
  const { run, status, seconds, usage, error, outputs } = report;
  return { run, status, done: ended, total: report.nodes.length, seconds: seconds ?? undefined, usage, error: error ?? undefined, outputs: outputs ?? {}, by: byName(report.answered_by ?? ''), stopped: stoppedTexts(report), revisions: report.revisions ?? [] };
}

/** The embedded model by the name that the extension uses. */
function byName(words: string): string {
  return words.replace('embedded model', offlineName);
}

/** A run as a whole, until a node is chosen. */
export function runHtml(file: string, whole: WholeRun, report: RunReport | undefined, texts: Texts = new Map()): string {
  const { run, status, done, total, usage, seconds, error, outputs, by, stopped, revisions } = whole;
  const about = [STATUS[status], `${done} of ${total} nodes`, seconds === undefined ? '' : secondsText(seconds), usage.calls > 0 ? costText(usage) : '', `run ${run}`];
  const canBeCase = status === 'finished' && Object.keys(outputs).length > 0;
  const parts = [`<header><h1>${escape(file)}</h1><p class="about">${about.filter((part) => part !== '').map(escape).join(' · ')}</p>${badgeHtml(by)}${canBeCase ? '<span class="acts"><button class="quiet" data-act="case">Save as Case</button></span>' : ''}</header>`];
  if (error !== undefined) parts.push(`<p class="failure">${escape(error)}</p>`);
  // Of one inside a Map there may be thousands.
  for (const sentence of stopped.slice(0, MOST_STOPPED)) parts.push(`<p class="stopped">${escape(sentence)}</p>`);
  if (stopped.length > MOST_STOPPED) parts.push(`<p class="stopped">${stopped.length - MOST_STOPPED} more Loops stopped like this.</p>`);
  for (const [name, value] of Object.entries(outputs)) parts.push(valueSection(`output ${name}`, `Result ${code(name)}`, name, value, true, texts));
  if (status === 'finished' && Object.keys(outputs).length === 0) parts.push('<p class="about">No output was reached.</p>');
  if (revisions.length > 0) {
    const rows = revisions.map((one) => revisionItem(run, one)).map(({ label, description, revision }) => `<li><button class="link" data-act="revision" data-revision="${revision.revision}">${escape(label)}</button> <span class="about">${escape(description)}</span></li>`);
    parts.push(section('revisions', `Revisions <span class="about">${rows.length}</span>`, `<ul class="nodes">${rows.join('')}</ul>`, true));
  }
  parts.push(episodesHtml(report?.episodes ?? whole.episodes));
  if (report !== undefined) {
    for (const [name, value] of Object.entries(report.inputs)) parts.push(valueSection(`input ${name}`, `Input ${code(name)}`, name, value, false, texts));
    const rows = report.nodes.map((node) => `<li><button class="link" data-act="node" data-node="${escape(node.node)}">${escape(node.node)}</button> <span class="about">${escape([node.status, node.operator, attemptText(node), figures(node.usage, node.seconds)].filter((part) => part).join(' · '))}</span></li>`);
    parts.push(section('nodes', `Nodes <span class="about">${rows.length}</span>`, `<ul class="nodes">${rows.join('')}</ul>`, Object.keys(outputs).length === 0));
  } else parts.push('<p class="about">Click a node in the preview to see what it was given, asked and answered.</p>');
  return parts.join('\n');
}

/** Who answers, as a button that leads to the choice of another. */
function badgeHtml(by: string): string {
  if (by === '') return '';
  const isStub = by.includes(offlineName);
  const title = isStub ? 'A free stub with canned answers, no real model. Click to choose a model or an endpoint.' : 'Click to choose another model or endpoint.';
  return `<button class="badge${isStub ? ' stub' : ''}" data-act="model" title="${title}">${escape(by)}</button>`;
}

/** A page of Markdown that the extension wrote, such as a dry run. */
export function pageHtml(name: string, text: string, texts: Texts = new Map()): string {
  return `<header><h1>${escape(name)}</h1></header>\n${valueHtml('page', name, text, texts, false)}`;
}

const STATUS = { running: 'running', waiting: 'waits for a person', finished: 'finished', failed: 'failed', cancelled: 'stopped' } as const;

/** The part of the panel that shows one node. `text` is what it has answered so far, and `steps` are what an agent does, while it runs. */
export function nodeHtml(run: string, name: string, report: RunReport | undefined, state: string, text: string, texts: Texts = new Map(), steps: readonly NodeStep[] = []): string {
  // A node's id means its last turn or item, which the report names.
  const node = report?.nodes.find((one) => one.node === name || one.id === name);
  const about = [node?.operator, node && modelName(node), state, figures(node?.usage, node?.seconds)].filter((part) => part).map((part) => escape(String(part)));
  const parts = [`<header><h1>${escape(node?.id ?? name)}</h1><p class="about">${about.join(' · ')} · run ${escape(run)}</p>${badgeHtml(byName(report?.answered_by ?? ''))}<span class="acts"><button class="quiet" data-act="whole">Show Whole Run</button>${canBeSet(node) ? '<button data-act="set">Set Output…</button>' : ''}</span></header>`];
  if (report?.visits !== undefined) parts.push(visitsHtml(report.visits, node?.node ?? name));
  if (node?.error) parts.push(`<p class="failure">${escape(node.error)}</p>`);
  if (typeof node?.case === 'number') parts.push(`<p>Case ${node.case + 1} was chosen.</p>`);
  if (node?.attempts !== undefined) parts.push(attemptsHtml(node));
  if (text !== '') parts.push(section('live', 'Answer so far', pre(text), true));
  if (steps.length > 0) parts.push(stepsHtml(steps));
  if (node !== undefined && isOnce(node)) parts.push(`<p class="once">${escape(ONCE)}</p>`);
  if (node?.why_no_call) parts.push(`<p>No call: ${escape(node.why_no_call)}</p>`);
  parts.push(episodesHtml(report?.episodes, node?.node));
  for (const [index, { port, from, value }] of (node === undefined ? [] : givenValues(node)).entries()) {
    parts.push(valueSection(`input ${port} ${index}`, `Input ${code(port)}<span class="about">${escape(from)}</span>`, `${name} ${port}`, value, false, texts));
  }
  for (const [port, value] of Object.entries(node?.outputs ?? {})) {
    if (value === '' && port === 'note' && node?.operator === 'Human') continue; // none was left
    parts.push(valueSection(`output ${port}`, `Output ${code(port)}`, `${name} ${port}`, value, true, texts));
  }
  if (node !== undefined) parts.push(...callsHtml(node, texts), memoryHtml(node));
  for (const { step, why } of report?.lost.filter((one) => one.node === (node?.node ?? name)) ?? []) {
    parts.push(`<p class="lost">A call was lost at ${code(step)}: ${escape(why)}</p>`);
  }
  if (node === undefined && text === '' && steps.length === 0 && report?.episodes === undefined) parts.push(`<p class="about">${waitingWords(state)}</p>`);
  return parts.join('\n');
}

/** Whether a node has ended that gives something of its own, which a person may set. */
function canBeSet(node: NodeReport | undefined): boolean {
  return node !== undefined && node.status !== 'unfinished' && (typeof node.operator === 'string' || typeof node.case === 'number') && !node.path.split('/').some((part) => part !== '' && !part.endsWith(']'));
}

/** The steps of an agent, the newest last. */
function stepsHtml(steps: readonly NodeStep[]): string {
  const rows = steps.map(({ step, kind, title, error }) => `<li${error === undefined ? '' : ' class="failed"'}>${escape(title === '' ? step : title)} <span class="about">${escape([kind, error ?? ''].filter((part) => part !== '').join(' · '))}</span></li>`);
  return section('steps', `Steps <span class="about">${steps.length}</span>`, `<ol class="steps">${rows.join('')}</ol>`, true);
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

function callsHtml(node: NodeReport, texts: Texts): string[] {
  return shownCalls(node).map((call, index) => {
    const about = [originText(call), figures(call.usage, call.seconds)];
    const said = messages(call).map(({ role, content }) => `<h3>${escape(role)}</h3>${pre(content)}`);
    const body = `${said.join('')}<h3>answer</h3>${call.kind === 'model' ? valueHtml(`answer ${keyOf(call)}`, `${node.id} answer`, answer(call), texts) : pre(answer(call))}`;
    const title = `${escape(callTitle(call))} <span class="about">${escape(about.filter((part) => part !== '').join(' · '))}</span>`;
    return section(`call ${keyOf(call)}`, title, body, index === 0, call.usable ? '' : 'unusable');
  });
}

function keyOf(call: Call): string {
  return `${call.step} ${call.sample} ${call.attempt}`;
}

/** What the validator said of each attempt; open where the result is not valid. */
function attemptsHtml(node: NodeReport): string {
  const attempts = node.attempts ?? [];
  const rows = attempts.map((one: Verdict) => {
    const reasons = one.reasons.length === 0 ? '' : `<ul>${one.reasons.map((reason) => `<li>${escape(reason)}</li>`).join('')}</ul>`;
    return `<h3>${escape(verdictTitle(one))}</h3>${reasons}${one.feedback === '' ? '' : `<p>Feedback: ${escape(one.feedback)}</p>`}`;
  });
  const mark = node.valid === false ? ' <span class="failure">not valid</span>' : '';
  return section('attempts', `Attempts <span class="about">${attempts.length}</span>${mark}`, rows.join(''), node.valid === false);
}

function memoryHtml(node: NodeReport): string {
  if (node.memory.length === 0) return '';
  const entries = node.memory.map((entry) => `<h3>${escape(entryName(entry))}</h3>${pre(valueText(entry['text'] ?? entry))}`);
  return section('memory', `Memory <span class="about">${node.memory.length} entries</span>`, entries.join(''), false);
}

function valueSection(key: string, title: string, name: string, value: unknown, open: boolean, texts: Texts): string {
  return section(key, title, valueHtml(key, name, value, texts), open);
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
