import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costSentence, mayCost } from '../../src/run/consent';
import { compare } from '../../src/run/texts/comparison';
import { ageText, costText, dollars, figures, nothing, secondsText, sum } from '../../src/run/texts/figures';
import { Following } from '../../src/run/panel/following';
import { plain } from '../../src/plain';
import { remedyOf, wasLeft } from '../../src/run/texts/rejection';
import { InputMemory, inputsOf, known, missing } from '../../src/run/inputs';
import { itemText } from '../../src/run/views/itemText';
import { lineOf } from '../../src/run/texts/lines';
import { nodeHtml } from '../../src/run/panel/nodeHtml';
import { nodePage, planPage, resultPage } from '../../src/run/texts/pages';
import { Progress } from '../../src/run/progress';
import type { Call, NodeReport, Plan, RunEvent, RunReport, RunSummary, Usage } from '../../src/run/protocol';
import { reportPicture } from '../../src/run/reportPicture';
import { runTree } from '../../src/run/views/treeModel';

const usage = (cost: number | null, tokens = 10): Usage => ({ prompt_tokens: tokens, completion_tokens: 0, calls: 1, cost_usd: cost });
const event = (name: string, node: string | null = null, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r1', node, path: '', at: 100, ...more });

function progressOf(...events: RunEvent[]): Progress {
  const progress = new Progress('r1', ['IN', 'A', 'B', 'OUT']);
  for (const one of events) progress.take(one);
  return progress;
}

const states = (progress: Progress, now = 100) => Object.fromEntries([...progress.states(now)].map(([node, { state }]) => [node, state]));

test('nodes wait, run, finish, fail and are skipped as the events say', () => {
  const begun = [event('run_started'), event('node_finished', 'IN', { usage: nothing, seconds: 0 }), event('node_started', 'A')];
  assert.deepEqual(states(progressOf(...begun)), { IN: 'finished', A: 'running', B: 'waiting', OUT: 'waiting' });
  const going = progressOf(...begun, event('node_finished', 'A', { usage: usage(0.5), seconds: 2 }), event('node_failed', 'B', { error: 'No.' }));
  assert.deepEqual(going.states(100).get('A'), { state: 'finished', detail: '2.0 s · 10 tokens · $0.5000' });
  assert.deepEqual(going.states(100).get('B'), { state: 'failed', detail: 'No.' });
  assert.deepEqual([going.done, going.total, going.usage.cost_usd], [3, 4, 0.5]);
  const skipped = progressOf(...begun, event('node_skipped', 'B', { reason: 'CHECK chose the other case.' }), event('node_reused', 'OUT'));
  assert.deepEqual(states(skipped), { IN: 'finished', A: 'running', B: 'skipped', OUT: 'reused' });
});

const turn = (name: string, number: number, more: Partial<RunEvent> = {}) => event(`turn_${name}`, 'REFINE', { turn: number, of: 4, ...more });
const item = (name: string, number: number) => event(`item_${name}`, 'PARTS', { item: number, of: 12 });

test('a Loop counts its turns, a Map the items that ended, and both begin again in another frame', () => {
  const progress = progressOf(turn('started', 1), turn('finished', 1), turn('started', 2));
  assert.deepEqual(progress.picture(100).boxes.get('REFINE'), { begun: 2, ended: 1, of: 4, running: true });
  for (const one of [item('started', 1), item('started', 2), item('failed', 1)]) progress.take(one);
  assert.deepEqual(progress.picture(100).boxes.get('PARTS'), { begun: 2, ended: 1, of: 12, running: true });
  progress.take(turn('started', 1, { path: 'PARTS[2]' }));
  assert.deepEqual(progress.picture(100).boxes.get('REFINE'), { begun: 1, ended: 0, of: 4, running: true });
  progress.take(event('run_finished'));
  assert.equal(progress.picture(100).boxes.get('REFINE')?.running, false);
});

test('who reads a run late counts turns and items by the paths of its nodes', () => {
  const ended = (path: string) => event('node_finished', 'POLISH', { path });
  const progress = progressOf(ended('LINES[1]/ROUNDS[1]'), ended('LINES[2]/ROUNDS[1]'), ended('LINES[2]/ROUNDS[2]'), event('run_finished', null));
  const { boxes } = progress.picture(0);
  assert.deepEqual(boxes.get('LINES'), { begun: 2, ended: 2, of: undefined, running: false });
  assert.deepEqual(boxes.get('ROUNDS'), { begun: 2, ended: 2, of: undefined, running: false });
});

test('a node in turns and items runs while it runs in any, and else is as it was last', () => {
  const progress = progressOf(event('node_started', 'A', { path: 'PARTS[1]' }), event('node_started', 'A', { path: 'PARTS[2]' }));
  progress.take(event('node_finished', 'A', { path: 'PARTS[2]', usage: nothing, seconds: 0 }));
  assert.equal(states(progress)['A'], 'running');
  progress.take(event('node_failed', 'A', { path: 'PARTS[1]', error: 'No.' }));
  assert.deepEqual(progress.states(100).get('A'), { state: 'failed', detail: 'No.' });
  progress.take(event('node_finished', 'B', { path: 'REFINE[1]', case: 'no' }));
  assert.equal(progress.states(100).get('B')?.case, 'no');
  assert.equal(progress.done, 2);
});

test('the output says in which turn or item a node ran', () => {
  assert.equal(lineOf(turn('started', 2)), 'REFINE: turn 2 of 4');
  assert.equal(lineOf(turn('finished', 2)), undefined);
  assert.equal(lineOf(event('item_failed', 'PARTS', { item: 3, of: 12, error: 'No.' })), 'PARTS: item 3 of 12 failed: No.');
  assert.equal(lineOf(event('node_started', 'A', { path: 'PARTS[3]' })), 'PARTS[3]/A begins');
});

test('a run of the journal shows the last turn of each node and how many there were', () => {
  const visit = (name: string, path: string, status = 'finished') => node(`${path}/${name}`, 'x', { id: name, path, status });
  const shown = reportPicture(report('r1', 0, [visit('WRITE', 'PARTS[1]/REFINE[1]'), visit('WRITE', 'PARTS[1]/REFINE[2]'), visit('WRITE', 'PARTS[2]/REFINE[1]', 'failed')]));
  assert.equal(shown.nodes.get('WRITE')?.state, 'failed');
  assert.deepEqual([...shown.boxes].map(([box, { ended, running }]) => [box, ended, running]), [['PARTS', 2, false], ['REFINE', 2, false]]);
});

test('the panel of a node in turns has a picker of them', () => {
  const last = node('REFINE[2]/WRITE', 'second', { id: 'WRITE', path: 'REFINE[2]' });
  const html = nodeHtml('r1', 'WRITE', { ...report('r1', 0, [last]), visits: ['REFINE[1]/WRITE', 'REFINE[2]/WRITE'] }, 'finished', '');
  assert.ok(html.includes('<h1>WRITE</h1>'));
  assert.ok(html.includes('<option value="REFINE[1]/WRITE">REFINE[1]</option><option value="REFINE[2]/WRITE" selected>REFINE[2]</option>'));
  assert.ok(!nodeHtml('r1', 'WRITE', report('r1', 0, [last]), 'finished', '').includes('<select'));
});

test('what a run did not reach is no part of it once it is over', () => {
  const over = progressOf(event('node_finished', 'IN'), event('node_started', 'A'), event('run_cancelled', null, { usage: usage(null) }));
  assert.deepEqual(states(over), { IN: 'finished', A: 'cancelled' });
  assert.deepEqual([over.done, over.total], [1, 4]);
  assert.deepEqual([over.status, over.isOver, over.usage.cost_usd], ['cancelled', true, null]);
});

test('a node that runs for long says so, one that is tried again says why', () => {
  const progress = progressOf(event('node_started', 'A'));
  assert.equal(progress.states(100.5).get('A')?.detail, undefined);
  assert.equal(progress.states(104).get('A')?.detail, '4.0 s');
  progress.take(event('node_retrying', 'A', { reason: 'too many requests', wait: 2 }));
  assert.equal(progress.states(100).get('A')?.detail, 'again in 2.0 s: too many requests');
  progress.take(event('node_output', 'A', { text: 'Now' }));
  assert.equal(progress.states(100).get('A')?.detail, undefined);
});

test('a node that waits for a place at the endpoint is queued, and its time goes on when it has one', () => {
  const queued = (waits: boolean, at: number) => event('node_queued', 'A', { waits, at });
  const progress = progressOf(event('node_started', 'A', { at: 10 }), queued(true, 11));
  assert.deepEqual(progress.states(60).get('A'), { state: 'running', detail: 'queued' });
  progress.take(queued(false, 50));
  assert.deepEqual(progress.states(52).get('A'), { state: 'running', detail: '3.0 s' });
  assert.equal(lineOf(event('node_queued', 'A', { waits: true, path: 'PARTS[3]' })), 'PARTS[3]/A queued');
});

test('a node is queued where it is in all of its frames', () => {
  const at = (name: string, item: number) => event(name, 'A', { at: 10, path: `PARTS[${item}]`, waits: true });
  const progress = progressOf(at('node_started', 1), at('node_started', 2), at('node_queued', 2));
  assert.equal(progress.states(10).get('A')?.detail, undefined);
  progress.take(event('node_finished', 'A', { path: 'PARTS[1]' }));
  assert.equal(progress.states(10).get('A')?.detail, 'queued');
});

test('unknown events and nodes are no trouble', () => {
  const progress = progressOf(event('something_new'), event('something_new', 'A'), event('node_finished', 'X'));
  assert.deepEqual(states(progress), { IN: 'waiting', A: 'waiting', B: 'waiting', OUT: 'waiting', X: 'finished' });
  assert.equal(lineOf(event('something_new')), undefined);
});

test('money that is not known is never nothing', () => {
  assert.equal(costText(usage(null)), 'cost unknown');
  assert.equal(costText(usage(0)), '$0');
  assert.equal(costText({ cost_usd: 0.01, estimated: true }), 'about $0.0100');
  assert.deepEqual([0.00001, 0.1234, 12.345].map(dollars), ['< $0.0001', '$0.1234', '$12.35']);
  assert.equal(sum(usage(1), usage(null)).cost_usd, null);
  assert.deepEqual(sum(usage(1), usage(2)), { prompt_tokens: 20, completion_tokens: 0, calls: 2, cost_usd: 3 });
});

test('times and ages are in words', () => {
  assert.deepEqual([0, 1.26, 12.6, 61, 3700].map(secondsText), ['0 s', '1.3 s', '13 s', '1 min 1 s', '1 h 1 min']);
  assert.deepEqual([5, 61, 7300, 200_000].map((ago) => ageText(1_000_000 - ago, 1_000_000)), ['just now', '1 min ago', '2 h ago', '2 d ago']);
  assert.equal(figures(nothing, 0.001), '');
});

const plan = (endpoint: string, most: number | null, calls = 2): Plan => ({
  workflow: '/w/flow.mmd',
  endpoint,
  order: ['A'],
  nodes: [
    { node: 'A', operator: 'Custom', model: 'm', runs: 'by choice', samples: 1, questions: [{ step: 'answer', messages: [{ role: 'user', content: 'Is it ```so```?' }], least: 1, most: 3 }] },
  ],
  calls: { least: calls, most: calls },
  tokens: { least: 100, most: 2000 },
  cost_usd: { least: 0, most },
});

test('only what may cost is asked for', () => {
  assert.equal(mayCost(plan('merrow:offline', 0)), false);
  assert.equal(mayCost(plan('merrow:offline', null)), false);
  assert.equal(mayCost(plan('https://api.example.org', 0)), false);
  assert.equal(mayCost(plan('https://api.example.org', null, 0)), false);
  assert.equal(mayCost(plan('https://api.example.org', null)), true);
  assert.equal(mayCost(plan('https://api.example.org', 0.5)), true);
  assert.match(costSentence(plan('https://api.example.org', 0.5)), /^It may make 2 calls to https:\/\/api\.example\.org with about 100 to 2,000 tokens\. Cost: about \$0 to \$0\.5000\.$/);
  assert.match(costSentence(plan('http://localhost', null)), /Cost: not known/);
});

test('a dry run is a page on which prompts stay what they are', () => {
  const page = planPage(plan('https://api.example.org', null));
  assert.match(page, /^# Dry run of flow\.mmd\n/);
  assert.match(page, /## 1\. A\n\nCustom · m · only where a Decision leads here/);
  assert.match(page, /### answer, asked 1 to 3 times/);
  assert.match(page, /````\nIs it ```so```\?\n````/);
});

function memory(): { get: <T>(key: string, otherwise: T) => T; update: (key: string, value: unknown) => Promise<void> } {
  const kept = new Map<string, unknown>();
  return {
    get: <T>(key: string, otherwise: T) => (kept.has(key) ? (kept.get(key) as T) : otherwise),
    update: async (key, value) => {
      kept.set(key, structuredClone(value));
    },
  };
}

test('inputs are remembered for each diagram, the newest workflows for longest', async () => {
  const inputs = new InputMemory(memory());
  const place = (number: number) => ({ uri: `file:///flow${number}.mmd`, diagram: 1 });
  await inputs.remember(place(0), { PROBLEM: { text: 'first' } });
  await inputs.remember(place(0), { TESTS: { file: 'file:///tests.txt' } });
  assert.deepEqual(inputs.of(place(0)), { PROBLEM: { text: 'first' }, TESTS: { file: 'file:///tests.txt' } });
  assert.deepEqual(inputs.of({ ...place(0), diagram: 2 }), {});
  for (let number = 1; number <= 200; number += 1) await inputs.remember(place(number), { PROBLEM: { text: String(number) } });
  assert.deepEqual(inputs.of(place(0)), {});
  assert.deepEqual(inputs.of(place(200)), { PROBLEM: { text: '200' } });
});

test('only what is not known is asked for, everything when it is to be changed', () => {
  const graph = {
    inputs: ['PROBLEM', 'STYLE', 'LIMIT'],
    nodes: [
      { id: 'PROBLEM', label: 'The<br/>problem', outputs: [{ type: 'Problem' }] },
      { id: 'STYLE', label: null, parameters: { default: 'short' }, outputs: [{ type: 'Text' }] },
      { id: 'LIMIT', label: 'LIMIT', parameters: { default: 3 }, outputs: [{ type: 'Number' }] },
    ],
  };
  const inputs = inputsOf(graph);
  assert.deepEqual(inputs[0], { name: 'PROBLEM', title: 'The problem', type: 'Problem', fallback: undefined });
  assert.deepEqual(inputs.map(({ fallback }) => fallback), [undefined, 'short', '3']);
  const names = (given: Record<string, { text: string }>, again: boolean) => missing(inputs, given, again).map(({ name }) => name);
  assert.deepEqual(names({}, false), ['PROBLEM']);
  assert.deepEqual(names({ PROBLEM: { text: 'x' } }, false), []);
  assert.deepEqual(names({ PROBLEM: { text: 'x' } }, true), ['PROBLEM', 'STYLE', 'LIMIT']);
  assert.deepEqual(known(inputs, { GONE: { text: 'x' }, STYLE: { text: 'long' } }), { STYLE: { text: 'long' } });
});

const call = (content: string, answer: string): Call => ({
  step: 'answer',
  sample: 0,
  attempt: 1,
  kind: 'model',
  origin: 'cache',
  usable: false,
  usage: nothing,
  seconds: 0,
  request: { model: 'm', messages: [{ role: 'user', content }] },
  result: { text: answer },
});

const node = (name: string, output: string, more: Partial<NodeReport> = {}): NodeReport => ({
  node: name,
  id: name,
  path: '',
  status: 'finished',
  operator: 'Custom',
  model: 'm',
  memory: [],
  outputs: { response: output },
  usage: usage(0.25),
  seconds: 1,
  error: null,
  calls: [call('Why?', output)],
  ...more,
});

const finished = { diagram: 1, status: 'finished', seconds: 2, usage: usage(0.25), error: null, parent: null } as const;

const report = (run: string, started: number, nodes: readonly NodeReport[]): RunReport => ({
  ...finished,
  run,
  workflow: '/w/flow.mmd',
  uri: 'file:///w/flow.mmd',
  started,
  inputs: { PROBLEM: 'Six times seven?' },
  outputs: { RETURN: 'Forty-two.' },
  text: null,
  nodes,
  lost: [],
});

test('the page of a result has the result first, then what led to it', () => {
  const page = resultPage(report('r1', 0, [node('A', 'x')]));
  assert.match(page, /^# flow\.mmd: result\n\nFinished · 2\.0 s · 1 call · 10 tokens · \$0\.2500 · run r1\n\nForty-two\.\n/);
  assert.match(page, /- A: finished · Custom · m · 1\.0 s/);
});

test('a node tells its outputs, memory, questions, answers and attempts; HTML in them is text', () => {
  const told = node('A', '<b>bold</b>', { memory: [{ node: 'EARLIER', text: 'I said so.' }] });
  const page = nodePage(report('r1', 0, [told]), 'A');
  for (const words of ['## Output `response`', 'EARLIER:', 'I said so.', '## answer, attempt 2 (could not be used)', 'Why?', 'taken from the cache']) assert.ok(page.includes(words), words);
  const html = nodeHtml('r1', 'A', report('r1', 0, [told]), 'finished', '');
  assert.ok(html.includes('&lt;b&gt;bold&lt;/b&gt;') && !html.includes('<b>'));
  assert.match(nodeHtml('r1', 'B', report('r1', 0, []), 'waiting', ''), /waits for what it reads/);
  assert.match(nodePage(report('r1', 0, []), 'B'), /did not reach/);
});

test('a node shows its attempts, what was wrong and what to do better; texts in them are text', () => {
  const verdicts = [
    { attempt: 1, valid: false, reasons: ['<i>Too long.</i>'], feedback: 'Be <b>brief</b>.' },
    { attempt: 2, sample: 1, valid: true, reasons: [], feedback: '' },
  ];
  const told = node('A', 'x', { attempt: 2, valid: false, attempts: verdicts });
  const html = nodeHtml('r1', 'A', report('r1', 0, [told]), 'finished', '');
  for (const words of ['<h3>Attempt 1: not valid</h3>', '<h3>Attempt 2, sample 2: valid</h3>', '&lt;i&gt;Too long.&lt;/i&gt;', 'Feedback: Be &lt;b&gt;brief&lt;/b&gt;.', 'not valid</span>']) assert.ok(html.includes(words), words);
  const page = nodePage(report('r1', 0, [told]), 'A');
  for (const words of ['not valid, attempt 2', '## Attempt 1: not valid', 'Feedback: Be']) assert.ok(page.includes(words), words);
  assert.ok(!nodeHtml('r1', 'A', report('r1', 0, [node('A', 'x')]), 'finished', '').includes('Attempts'));
});

test('the embedded model is named in place of the model that a node was meant for', () => {
  const offline = { ...call('Why?', 'So.'), origin: 'offline' };
  const told = node('A', 'x', { model: 'merrow-offline (not a real model)', sources: [{ endpoint: 'merrow:offline', model: 'merrow-offline (not a real model)' }], calls: [offline] });
  const run = report('r1', 0, [told]);
  for (const page of [nodeHtml('r1', 'A', run, 'finished', ''), nodePage(run, 'A')]) {
    assert.match(page, /Custom · embedded model \(offline\) ·/);
    assert.match(page, /answered by the embedded model \(offline\)/);
    assert.doesNotMatch(page, /not a real model|by the endpoint/);
  }
  assert.match(resultPage(run), /- A: finished · Custom · embedded model \(offline\)/);
  assert.match(lineOf(event('run_started', null, { endpoint: 'merrow:offline' })) ?? '', /\(embedded model \(offline\)\)/);
  const planned = planPage(plan('merrow:offline', 0));
  assert.match(planned, /Endpoint: embedded model \(offline\)/);
  assert.match(planned, /Custom · embedded model \(offline\) ·/);
});

test('a node shows what it was given, by which node, and why it made no call', () => {
  const inputs = { candidates: [{ node: 'SOLVE', output: 'response', value: '<i>42</i>' }, { node: 'CODE', output: 'response', value: '42' }], problem: [{ node: '', output: '', value: 'Six times seven?' }] };
  const told = node('VOTE', '42', { inputs, calls: [], why_no_call: '2 of 2 candidates are equal.' });
  const html = nodeHtml('r1', 'VOTE', report('r1', 0, [told]), 'finished', '');
  assert.match(html, /Input <code>candidates<\/code><span class="about"> from SOLVE<\/span>/);
  assert.match(html, /Input <code>problem<\/code><span class="about"><\/span>/);
  assert.ok(html.includes('&lt;i&gt;42&lt;/i&gt;') && html.includes('No call: 2 of 2 candidates are equal.'));
  const page = nodePage(report('r1', 0, [told]), 'VOTE');
  assert.match(page, /## Input `candidates` from CODE\n\n```\n42\n```/);
  assert.match(page, /No call: 2 of 2 candidates are equal\./);
});

test('the run panel follows the newest run of the active file, and knows an earlier run', () => {
  const all = (): boolean => true;
  const panel = new Following();
  panel.began('a', 'a1', all);
  panel.choose('a', 'a1', 'VOTE');
  assert.equal(panel.isEarlier, false);
  assert.equal(panel.began('a', 'a2', all), true);
  assert.deepEqual([panel.shown, panel.isEarlier], [{ run: 'a2', node: 'VOTE' }, false]);
  assert.equal(panel.began('a', 'a3', () => false), true);
  assert.deepEqual(panel.shown, { run: 'a3', node: undefined });
  // A run of another file: its node is not one of this file.
  panel.began('b', 'b1', all);
  assert.deepEqual([panel.shown, panel.isEarlier], [{ run: 'b1', node: undefined }, false]);
  panel.choose('b', 'b1', 'CHECK');
  assert.equal(panel.activated('a'), true);
  assert.deepEqual([panel.shown, panel.isEarlier], [{ run: 'a3', node: undefined }, false]);
  assert.equal(panel.activated('b'), true);
  assert.deepEqual(panel.shown, { run: 'b1', node: 'CHECK' });
  // A file that was not run leaves the panel as it is, as an earlier run.
  assert.equal(panel.activated('c'), false);
  assert.deepEqual([panel.shown, panel.isEarlier, panel.hasNewer], [{ run: 'b1', node: 'CHECK' }, true, false]);
  // An earlier run that somebody chose stays, until the newest is asked for.
  panel.activated('a');
  panel.choose('a', 'a1', 'VOTE');
  assert.deepEqual([panel.isEarlier, panel.hasNewer], [true, true]);
  assert.equal(panel.follow(), true);
  assert.deepEqual([panel.shown, panel.isEarlier], [{ run: 'a3', node: 'VOTE' }, false]);
});

test('foreign text holds no link that the editor would follow', () => {
  for (const text of ['[go](command:workbench.action.quit)', '[[a](b)](command:x "t")', 'x](http://a)']) assert.doesNotMatch(plain(text), /\]\(/);
  assert.equal(plain('A sentence (with [brackets]).'), 'A sentence (with [brackets]).');
});

test('buttons come from what the server says, never from the words of a failure', () => {
  const failure = (data: unknown) => Object.assign(new Error('Set the API key (MW101).'), { data });
  assert.equal(remedyOf(failure({ code: 'endpoint', remedy: 'key' })), 'key');
  for (const data of [undefined, null, {}, { remedy: 1 }, 'key']) assert.equal(remedyOf(failure(data)), undefined);
  assert.equal(remedyOf('key'), undefined);
});

test('only who leaves a question of the server without an answer is told nothing', () => {
  const rejection = (code: unknown) => Object.assign(new Error('No value was given.'), { code });
  assert.equal(wasLeft(rejection(-32800)), true);
  for (const code of [-32803, -32097, undefined, '-32800']) assert.equal(wasLeft(rejection(code)), false);
  assert.equal(wasLeft(new Error('No value was given.')), false);
});

test('two runs are compared node by node', () => {
  const before = report('r1', 0, [node('SAME', 'x'), node('OUTPUT', 'x'), node('STATUS', 'x'), node('GONE', 'x'), node('QUESTION', 'x')]);
  const asked = node('QUESTION', 'x', { calls: [call('How?', 'x')] });
  const after = report('r2', 1, [node('SAME', 'x', { seconds: 9 }), node('OUTPUT', 'y'), node('STATUS', 'x', { status: 'failed', error: 'No.' }), asked, node('NEW', 'x')]);
  const { nodes, before: first, after: second } = compare(before, after);
  assert.deepEqual(Object.fromEntries(nodes.map(({ node: name, difference }) => [name, difference])), {
    SAME: 'same',
    OUTPUT: 'other output',
    STATUS: 'other status',
    GONE: 'only before',
    QUESTION: 'other question',
    NEW: 'only after',
  });
  assert.equal(first.split('\n').length, second.split('\n').length);
  const same = nodes.find(({ node: name }) => name === 'SAME');
  assert.equal(same?.before, same?.after);
});

const summary = (run: string, workflow: string, started: number, more: Partial<RunSummary> = {}): RunSummary => ({
  ...finished,
  run,
  workflow,
  uri: null,
  started,
  here: false,
  ...more,
});

test('the tree has the workflow that was run last first, and of each the newest run first', () => {
  const runs = [summary('a1', '/w/sub/a.mmd', 10), summary('b1', '/x/b.md#2', 20), summary('a2', '/w/sub/a.mmd', 30, { status: 'cancelled' })];
  const tree = runTree(runs, ['/w'], 100);
  assert.deepEqual(tree.map(({ label, description }) => [label, description]), [['a.mmd', 'sub'], ['b.md#2', '/x']]);
  assert.deepEqual(tree[0]?.runs.map(({ summary: { run }, context, description }) => [run, context, description]), [
    ['a2', 'run.resumable', 'stopped · 2.0 s · $0.2500'],
    ['a1', 'run', '2.0 s · $0.2500'],
  ]);
});

test('a run is live only where this window works on it', () => {
  const context = (more: Partial<RunSummary>) => runTree([summary('a', '/a', 0, more)], [], 0)[0]?.runs[0]?.context;
  assert.equal(context({ status: 'running', here: true }), 'run.live');
  assert.equal(context({ status: 'running', here: false }), 'run.resumable');
  assert.equal(context({ status: 'failed' }), 'run.resumable');
});

test('attempts that are not valid are said while a node runs, and where its result is used all the same', () => {
  const judged = event('node_judged', 'A', { attempt: 1, valid: false, reasons: ['Too long.', 'No\nsource.'], feedback: 'Be brief.' });
  const going = progressOf(event('node_started', 'A'), judged);
  assert.deepEqual(going.states(100).get('A'), { state: 'running', detail: 'attempt 1 is not valid: Too long.; No source.' });
  assert.equal(lineOf(judged), 'A: attempt 1 is not valid: Too long.; No source.');
  assert.equal(lineOf(event('node_judged', 'A', { attempt: 2, valid: true, reasons: [], feedback: '' })), undefined);
  const used = { usage: usage(0.5), seconds: 2, attempt: 3, valid: false };
  assert.equal(progressOf(event('node_finished', 'A', used)).states(100).get('A')?.detail, 'not valid, attempt 3 · 2.0 s · 10 tokens · $0.5000');
  assert.match(lineOf(event('node_finished', 'A', { ...used, valid: true })) ?? '', /, attempt 3\)$/);
  assert.equal(progressOf(event('node_reused', 'A', { attempt: 1, valid: true })).states(100).get('A')?.detail, undefined);
});

test('the status bar says how far a run is and what it has cost', () => {
  const progress = progressOf(event('node_finished', 'IN'), event('node_finished', 'A', { usage: usage(0.5) }));
  assert.equal(itemText(progress, 1).text, '$(sync~spin) Merrow 2/4 · $0.5000');
  assert.match(itemText(progress, 2).text, /\(2 runs\)$/);
  progress.take(event('run_cancelled'));
  assert.equal(itemText(progress, 0).text, '$(debug-pause) Merrow stopped 2/4 · $0.5000');
});

test('the output says what happened, line by line', () => {
  assert.equal(lineOf(event('run_started', null, { endpoint: 'http://localhost', notices: ['The key is not used.'] })), 'Run r1 (http://localhost)\nThe key is not used.');
  assert.equal(lineOf(event('node_finished', 'IN', { usage: nothing, seconds: 0 })), undefined);
  assert.equal(lineOf(event('node_failed', 'A', { error: 'No.' })), 'A failed: No.');
  assert.match(lineOf(event('run_finished', null, { outputs: { RETURN: 'Forty-two.' }, usage: usage(0), seconds: 1 })) ?? '', /^Run r1 finished \(1\.0 s, 10 tokens, \$0\)\nRETURN: Forty-two\.\n$/);
});
