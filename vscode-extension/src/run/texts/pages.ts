/** Runs as Markdown that is read as text: results, nodes, dry runs. Pure. */
import { attemptText, count, costRange, costText, endpointName, figures, modelName, offline, offlineName, range, secondsText, tokensText } from './figures';
import type { Call, GivenValue, NodeReport, Plan, PlannedNode, RunReport, Values, Verdict } from '../protocol';

/** Characters of a tool's arguments or its result that are shown. */
const MOST_SHOWN = 20_000;

const words: Readonly<Record<string, string>> = {
  finished: 'Finished',
  failed: 'Failed',
  cancelled: 'Stopped',
  waiting: 'Waits for a person',
  running: 'Still running',
};

/** A value as people read it: text as it is, anything else as indented JSON. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, undefined, 2);
}

/** The last part of a workflow's name in the journal. */
export function shortName(workflow: string): string {
  return workflow.slice(Math.max(workflow.lastIndexOf('/'), workflow.lastIndexOf('\\')) + 1);
}

/** What a run gave, and what it took. */
export function resultPage(run: RunReport): string {
  const outputs = Object.entries(run.outputs ?? {});
  const lines = [`# ${shortName(run.workflow)}: ${outputs.length === 1 ? 'result' : 'results'}`, '', summaryLine(run), ''];
  if (run.error !== null) lines.push(`**${run.error}**`, '');
  for (const [name, value] of outputs) {
    if (outputs.length > 1) lines.push(`## ${name}`, '');
    // As the author of the workflow would read it, not as a quotation.
    lines.push(...(typeof value === 'string' ? [value.trimEnd()] : block(value)), '');
  }
  if (outputs.length === 0) lines.push('No output was reached.', '');
  lines.push('## Inputs', '');
  for (const [name, value] of Object.entries(run.inputs)) lines.push(`${name}:`, '', ...block(value), '');
  lines.push('## Nodes', '', ...run.nodes.map(nodeLine), '');
  return lines.join('\n');
}

function nodeLine(node: NodeReport): string {
  const parts = [node.status, node.operator, modelName(node), figures(node.usage, node.seconds)];
  return `- ${node.node}: ${parts.filter((part) => part).join(' · ')}`;
}

function summaryLine(run: RunReport): string {
  const parts = [words[run.status] ?? run.status];
  if (run.seconds !== null) parts.push(secondsText(run.seconds));
  parts.push(count(run.usage.calls, 'call'), tokensText(run.usage), costText(run.usage));
  const from = run.parent === null ? '' : `; took results over from ${run.parent}`;
  return `${parts.join(' · ')} · run ${run.run}${from}`;
}

/** All that a run has of one node: what it was given, remembered, asked and answered. */
export function nodePage(run: RunReport, name: string): string {
  const node = run.nodes.find((one) => one.node === name || one.id === name);
  if (node === undefined) return `# ${name}\n\nThe run ${run.run} did not reach this node.\n`;
  const head = [node.operator, modelName(node), node.status, attemptText(node), figures(node.usage, node.seconds)].filter((part) => part).join(' · ');
  const lines = [`# ${name}`, '', head, ''];
  if (node.error !== null) lines.push(`**${node.error}**`, '');
  if (typeof node.case === 'number') lines.push(`Case ${node.case + 1} was chosen.`, '');
  for (const one of node.attempts ?? []) lines.push(...verdictLines(one), '');
  if (node.why_no_call) lines.push(`No call: ${node.why_no_call}`, '');
  for (const { port, from, value } of givenValues(node)) lines.push(`## Input \`${port}\`${from}`, '', ...block(value), '');
  for (const [port, value] of Object.entries(node.outputs ?? {})) lines.push(`## Output \`${port}\``, '', ...block(value), '');
  if (node.memory.length > 0) {
    lines.push('## Memory', '');
    for (const entry of node.memory) lines.push(`${entryName(entry)}:`, '', ...block(entry['text'] ?? entry), '');
  }
  if (isOnce(node)) lines.push(ONCE, '');
  for (const call of shownCalls(node)) lines.push(...callLines(call));
  for (const { step, why } of run.lost.filter((one) => one.node === name)) lines.push(`A call was lost at ${step}: ${why}`, '');
  return lines.join('\n');
}

/** What the validator said of an attempt. */
function verdictLines(one: Verdict): string[] {
  const lines = [`## ${verdictTitle(one)}`, '', ...one.reasons.map((reason) => `- ${reason.replaceAll(/\s+/g, ' ')}`)];
  return one.feedback === '' ? lines : [...lines, '', `Feedback: ${one.feedback}`];
}

export function verdictTitle({ attempt, sample, valid }: Verdict): string {
  return `Attempt ${attempt}${sample === undefined ? '' : `, sample ${sample + 1}`}: ${valid ? 'valid' : 'not valid'}`;
}

/** What a node did, without what differs at every run, so that two runs can be compared. */
export function comparablePage(node: NodeReport | undefined): string {
  if (node === undefined) return '';
  const lines = [node.status + (node.error === null ? '' : `: ${node.error}`), ''];
  for (const [port, value] of Object.entries(node.outputs ?? {})) lines.push(`## Output ${port}`, '', valueText(value), '');
  for (const entry of node.memory) lines.push(`## Memory of ${entryName(entry)}`, '', valueText(entry['text'] ?? entry), '');
  for (const call of node.calls) {
    lines.push(`## ${callTitle(call)}`, '');
    for (const { role, content } of messages(call)) lines.push(`### ${role}`, '', content, '');
    lines.push('### answer', '', answer(call), '');
  }
  return lines.join('\n');
}

export function entryName(entry: Values): string {
  return typeof entry['node'] === 'string' ? entry['node'] : 'an earlier node';
}

export function callTitle(call: Call): string {
  const sample = call.sample > 0 ? `, sample ${call.sample + 1}` : '';
  const attempt = call.attempt > 0 ? `, attempt ${call.attempt + 1}` : '';
  return `${call.step}${sample}${attempt}${call.usable ? '' : ' (could not be used)'}`;
}

const ORIGINS: Readonly<Record<string, string>> = {
  endpoint: 'answered by the endpoint',
  offline: `answered by the ${offlineName}`,
  sandbox: 'code run in the sandbox',
  tool: 'answered by the tool',
  cache: 'taken from the cache',
  shared: 'shared with the same question',
  replay: 'taken from the recording',
};

/** Where the answer to a call came from. */
export function originText({ origin }: Call): string {
  return ORIGINS[origin] ?? `from ${origin}`;
}

/** The values that a node was given, in the order of its ports; ` from NODE` where a node gave the value. */
export function givenValues(node: NodeReport): { readonly port: string; readonly from: string; readonly value: unknown }[] {
  return Object.entries(node.inputs ?? {}).flatMap(([port, values]) =>
    values.map((given: GivenValue) => ({ port, from: given.node ? ` from ${given.node}` : '', value: given.value })),
  );
}

/** The messages of a question to a model, or what was handed to the sandbox. */
export function messages(call: Call): { readonly role: string; readonly content: string }[] {
  // Of a step of an agent, what was added since the one before.
  const given = call.request['messages'] ?? call.request['new'];
  if (Array.isArray(given)) {
    return given.map((message: Values) => ({ role: valueText(message['role']), content: valueText(message['content']) }));
  }
  if (call.kind === 'tool') return [{ role: 'tool', content: valueText(call.request['tool'] ?? '') }, { role: 'arguments', content: bounded(valueText(call.request['arguments'] ?? {})) }];
  const { code } = call.request;
  return [{ role: typeof code === 'string' ? 'code' : 'request', content: valueText(code ?? call.request) }];
}

export function answer(call: Call): string {
  if (call.kind === 'model') {
    const { text, calls } = call.result;
    return [valueText(text ?? ''), calls === undefined ? '' : valueText(calls)].filter((part) => part !== '').join('\n');
  }
  if (call.kind === 'tool') return toolAnswer(call.result);
  return ['value', 'stdout', 'stderr', 'error', 'traceback']
    .filter((key) => call.result[key] !== undefined && call.result[key] !== '' && call.result[key] !== null)
    .map((key) => `${key}: ${valueText(call.result[key])}`)
    .join('\n');
}

/** What a tool gave: its fields where it has a schema, else its text. */
function toolAnswer({ text, fields, failed }: Values): string {
  const given = bounded(valueText(fields ?? text ?? ''));
  return failed === true ? `The tool says that it failed:\n${given}` : given;
}

/** A text that is shown: of a long one its beginning, with how much is left out. */
function bounded(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}\n... (${(text.length - MOST_SHOWN).toLocaleString('en')} more characters)`;
}

/** Says of a call that was begun that it is not made again without a person. */
export const ONCE = 'This tool may not be repeated: it is called once, and what came of a call that was cut off, a person says.';

/** Whether the tool that a node calls may not be repeated: before each call the journal keeps that it is about to be made. */
export function isOnce({ calls }: Pick<NodeReport, 'calls'>): boolean {
  return calls.some(({ kind }) => kind === 'intent');
}

/** The calls that have something to show; that one was about to be made is told once, of all. */
export function shownCalls({ calls }: Pick<NodeReport, 'calls'>): readonly Call[] {
  return calls.filter(({ kind }) => kind !== 'intent');
}

function callLines(call: Call): string[] {
  const lines = [`## ${callTitle(call)}`, '', [originText(call), figures(call.usage, call.seconds)].filter((part) => part !== '').join(' · '), ''];
  for (const { role, content } of messages(call)) lines.push(`### ${role}`, '', ...block(content), '');
  return [...lines, '### answer', '', ...block(answer(call)), ''];
}

/** A dry run: what would be asked of whom, in which order, and what it may cost. */
export function planPage(plan: Plan): string {
  const lines = [
    `# Dry run of ${shortName(plan.workflow)}`,
    '',
    'No call was made. Values that are not known yet are in angle brackets.',
    '',
    `- Endpoint: ${endpointName(plan.endpoint)}`,
    `- Calls: ${range(plan.calls)}`,
    `- Tokens: about ${range(plan.tokens)}`,
    `- Cost: ${costRange(plan.cost_usd)}`,
    '',
    'A question whose answer can’t be used is asked up to twice more, which the bounds leave out.',
    '',
    ...(plan.loops ?? []).flatMap(({ text }) => [text, '']),
  ];
  for (const [index, node] of plan.nodes.entries()) lines.push(...plannedLines(index + 1, node, plan.endpoint));
  return lines.join('\n');
}

function plannedLines(number: number, node: PlannedNode, endpoint: string): string[] {
  const about = [node.operator];
  if (node.model !== null && (node.questions.length > 0 || node.embeds !== undefined)) about.push(endpoint === offline ? offlineName : node.model);
  if (node.samples > 1) about.push(`${node.samples} samples`);
  if (node.runs !== 'always') about.push('only where a Decision leads here');
  const lines = [`## ${number}. ${node.node}`, '', about.join(' · '), ''];
  if (node.tool !== undefined) lines.push(`Calls the tool ${node.tool}.`, '');
  if (node.tools !== undefined) lines.push(`Its model may use ${node.tools.names.join(', ')}, in up to ${node.tools.steps} steps.`, '');
  if (node.embeds !== undefined) lines.push(`Has the query embedded${node.embeds > 0 ? `, and ${node.embeds.toLocaleString('en-US')} of its store’s texts, which have no vectors yet` : ''}.`, '');
  for (const { step, least, most, messages: asked } of node.questions) {
    const often = least === 1 && most === 1 ? '' : `, asked ${range({ least, most })} times`;
    lines.push(`### ${step}${often}`, '');
    for (const { role, content } of asked) lines.push(`${role}:`, '', ...block(content), '');
  }
  return lines;
}

/** A value in a fence that it can't break out of. */
function block(value: unknown): string[] {
  const text = valueText(value);
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${typeof value === 'string' ? '' : 'json'}`, text.replace(/\n$/, ''), fence];
}
