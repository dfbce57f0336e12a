import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandWords, differencePage, pulledText, toolTree } from '../../src/tools/model';
import { isShort, modalDetail, wholePage } from '../../src/tools/consentText';
import { lineOf } from '../../src/run/texts/lines';
import { nodeHtml } from '../../src/run/panel/nodeHtml';
import { nodePage } from '../../src/run/texts/pages';
import { toldOf } from '../../src/run/texts/rejection';
import { Progress } from '../../src/run/progress';
import type { Call, NodeReport, RunEvent, RunReport } from '../../src/run/protocol';
import type { Consent, ListedServer, ListedTool, Listing } from '../../src/tools/protocol';

const tool = (more: Partial<ListedTool> = {}): ListedTool => ({ name: 'search', tool: 'web.search', state: 'pinned', description: 'Searches.', sha256: 'a'.repeat(64), repeatable: false, allow: false, agreed: false, last_used: null, ...more });
const server = (more: Partial<ListedServer> = {}): ListedServer => ({ name: 'web', source: '/w/.mcp.json', trust: 'trusted', problem: null, notes: [], definition: { command: ['npx'] }, tools: [], ...more });
const listing = (...servers: ListedServer[]): Listing => ({ workspace: '/w', pins: '/w/merrow.tools.json', settings: '/c/config.toml', consents: '/s/trusted.json', servers, unknown: [], problems: [] });

describe('the tree of tools', () => {
  it('says of each server whether it may be started, and of each tool how it stands', () => {
    const [item] = toolTree(listing(server({ tools: [tool(), tool({ name: 'fetch', tool: 'web.fetch', state: 'unpinned', sha256: null })] })), 0);
    assert.deepEqual([item?.label, item?.description, item?.context, item?.icon.name], ['web', 'trusted', 'server.trusted', 'server']);
    assert.deepEqual(item?.tools.map(({ label, description, context, icon }) => [label, description, context, icon.name]), [
      ['search', 'pinned · asks before the first call', 'tool.pinned', 'pinned'],
      ['fetch', 'not pinned', 'tool.unpinned', 'pin'],
    ]);
  });

  it('says what a tool may do, and when it was last used', () => {
    const described = (more: Partial<ListedTool>) => toolTree(listing(server({ tools: [tool(more)] })), 7200)[0]?.tools[0];
    assert.equal(described({ allow: true, repeatable: true })?.description, 'pinned · allowed · repeatable');
    assert.match(described({ agreed: true, last_used: 0 })?.description ?? '', /^pinned · allowed here · last used 2 h/);
    assert.deepEqual([described({ agreed: true })?.context, described({ agreed: true, allow: true })?.context], ['tool.pinned.agreed', 'tool.pinned']);
    assert.deepEqual([described({ state: 'differs' })?.description.split(' · ')[0], described({ state: 'gone' })?.context], ['differs from its pin', 'tool.gone']);
  });

  it('has files as servers of one tool, servers that can’t be used, and those that only have pins', () => {
    const file = server({ name: 'local.shout', trust: 'untrusted', tools: [tool({ name: 'shout', tool: 'local.shout' })] });
    const bad = server({ name: 'bad', trust: 'unusable', problem: '`command` is not a text.', definition: null });
    const [local, broken, unknown] = toolTree({ ...listing(file, bad), unknown: ['old'] }, 0);
    assert.deepEqual([local?.context, local?.icon.name, local?.tools[0]?.server, local?.tools[0]?.tool], ['server.untrusted.file', 'shield', 'local', 'local.shout']);
    assert.deepEqual([broken?.context, broken?.description], ['server.unusable', 'can’t be used · `command` is not a text.']);
    assert.deepEqual([unknown?.context, unknown?.label], ['server.unknown', 'old']);
    assert.equal(toolTree(listing(server({ ...file, trust: 'trusted' })), 0)[0]?.icon.name, 'symbol-function');
  });

  it('shows what servers say as text in which nothing hides', () => {
    const [item] = toolTree(listing(server({ tools: [tool({ description: 'Does\u202e it.\n\u001b[2J'.repeat(200) })], definition: { command: ['a\u200bb'] } })), 0);
    for (const text of [item?.tooltip, item?.tools[0]?.tooltip]) {
      assert.ok(text !== undefined && ['\u200b', '\u202e', '\u001b'].every((hidden) => !text.includes(hidden)));
      assert.ok(text.length < 1_500);
    }
    assert.match(item?.tooltip ?? '', /\n {2}"command": \[/);
  });
});

describe('what is said of pins', () => {
  it('names the changes, and what can’t be seen in them', () => {
    assert.equal(differencePage([{ tool: 'web.search', message: 'web.search is not as it was pinned.', difference: '- a\n+ b', hidden: ['description: U+200B'] }]), "web.search is not as it was pinned.\ncan't be seen: description: U+200B\n- a\n+ b\n");
    assert.equal(pulledText({ server: 'web', count: 2, changed: [1], written: true }), 'merrow.tools.json has 2 tools of web.');
    assert.equal(pulledText({ server: 'web', count: 1, changed: [1], written: true }), 'merrow.tools.json has 1 tool of web.');
    assert.equal(pulledText({ server: 'web', count: 2, changed: [1], written: false }), 'Nothing was pinned.');
    assert.match(pulledText({ server: 'web', count: 2, changed: [], written: false }), /is what is pinned/);
  });

  it('reads a command line as a shell does', () => {
    assert.deepEqual(commandWords('npx -y  "a b" \'c "d"\' e\\ f ""'), ['npx', '-y', 'a b', 'c "d"', 'e f', '']);
    assert.deepEqual(commandWords('a"b"c \'x\\y\''), ['abc', 'x\\y']);
    assert.deepEqual(commandWords('  '), []);
    assert.equal(commandWords('npx "a'), undefined);
    assert.deepEqual(commandWords('a\\'), ['a\\']);
  });
});

const CONSENT: Consent = { kind: 'consent', title: 'web is proposed by /w/.mcp.json.', question: 'Start it?', button: 'Trust This Server', shown: [{ title: '/w/.mcp.json', text: '{\n  "command": [\n    "npx"\n  ]\n}' }], from: '/w' };

describe('a failure', () => {
  it('has what the server of tools wrote', () => {
    const failed = (data: unknown) => Object.assign(new Error('It ended.'), { data });
    assert.equal(toldOf(failed({ code: 'tool', told: 'no database' })), 'no database');
    for (const data of [undefined, {}, { told: 7 }, { told: '' }]) assert.equal(toldOf(failed(data)), undefined);
  });
});

describe('a consent', () => {
  it('is asked for with all of it, in a dialog where that shows it', () => {
    assert.equal(modalDetail(CONSENT), '/w/.mcp.json\n{\n  "command": [\n    "npx"\n  ]\n}\n\nIn /w.\n\nStart it?');
    assert.equal(isShort(CONSENT), true);
    for (const text of ['x'.repeat(201), 'x\n'.repeat(25), 'x'.repeat(100).concat('\n').repeat(13)]) assert.equal(isShort({ ...CONSENT, shown: [{ title: 'T', text }] }), false, text.slice(0, 10));
  });

  it('is read in a document where it is long, and nothing hides in it', () => {
    const text = `${'x'.repeat(5_000)}\u202e`;
    const page = wholePage({ ...CONSENT, shown: [{ title: 'T', text }] });
    assert.ok(page.includes('x'.repeat(5_000)) && page.includes('Start it?') && !page.includes('\u202e'));
    assert.ok(!modalDetail({ ...CONSENT, shown: [{ title: '\u001b', text: '' }] }).includes('\u001b'));
  });
});

const event = (name: string, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r1', node: 'AGENT', path: '', at: 0, ...more });

describe('the steps of an agent', () => {
  it('are a list while its node runs, the newest last, each once', () => {
    const progress = new Progress('r1', ['AGENT']);
    progress.take(event('node_started'));
    progress.take(event('node_step', { step: 'step 1', kind: 'model', title: 'thinks' }));
    progress.take(event('node_step', { step: 'step 1.1', kind: 'tool', title: 'web.search {"query": "a\u202e"}' }));
    assert.equal(progress.states(0).get('AGENT')?.detail, 'step 1.1: web.search {"query": "a\ufffd"}');
    progress.take(event('node_step', { step: 'step 1.1', kind: 'tool', title: 'web.search', error: 'the server is gone' }));
    assert.deepEqual(progress.steps('AGENT').map(({ step, title, error }) => [step, title, error]), [['step 1', 'thinks', undefined], ['step 1.1', 'web.search', 'the server is gone']]);
    for (let step = 2; step < 80; step += 1) progress.take(event('node_step', { step: `step ${step}`, kind: 'model', title: 'x'.repeat(1_000) }));
    assert.equal(progress.steps('AGENT').length, 50);
    assert.equal(progress.steps('AGENT').at(-1)?.step, 'step 79');
    assert.ok((progress.steps('AGENT').at(-1)?.title.length ?? 0) <= 200);
    progress.take(event('node_started'));
    assert.deepEqual(progress.steps('AGENT'), []);
  });

  it('of turns are apart, and a run that is told of them by lines says what failed', () => {
    const progress = new Progress('r1', ['AGENT']);
    progress.take(event('node_step', { path: 'L[1]', step: 'step 1', kind: 'model', title: 'one' }));
    progress.take(event('node_step', { path: 'L[2]', step: 'step 1', kind: 'model', title: 'two' }));
    assert.deepEqual([progress.steps('L[1]/AGENT')[0]?.title, progress.steps('L[2]/AGENT')[0]?.title, progress.steps('AGENT').length], ['one', 'two', 0]);
    assert.equal(lineOf(event('node_step', { path: 'L[2]', step: 'step 1', title: 'web.search' })), 'L[2]/AGENT step 1: web.search');
    assert.equal(lineOf(event('node_step', { step: 'step 2', title: 'web.search', error: 'no' })), 'AGENT step 2: web.search: no');
    assert.equal(lineOf(event('node_step')), undefined);
  });

  it('are drawn below the node as text', () => {
    const steps = [{ step: 'step 1', kind: 'tool', title: '<b>web.search</b>', error: undefined }, { step: 'step 2', kind: 'tool', title: '', error: '<i>no</i>' }];
    const html = nodeHtml('r1', 'AGENT', undefined, 'running', '', new Map(), steps);
    assert.ok(html.includes('&lt;b&gt;web.search&lt;/b&gt;') && !html.includes('<b>') && !html.includes('<i>'));
    assert.match(html, /<li class="failed">step 2 <span class="about">tool · &lt;i&gt;no&lt;\/i&gt;<\/span><\/li>/);
    assert.ok(!html.includes('No call has finished yet'));
  });
});

const usage = { prompt_tokens: 0, completion_tokens: 0, calls: 0, cost_usd: 0 };
const call = (kind: Call['kind'], result: Call['result'], step = 'tool'): Call => ({ step, sample: 0, attempt: 0, kind, origin: 'tool', usable: true, usage, seconds: 0, request: { tool: 'web.search', pin: 'abc', arguments: { query: '<b>a</b>' } }, result });
const reportOf = (...calls: Call[]): RunReport => {
  const node: NodeReport = { node: 'T', id: 'T', path: '', status: 'finished', operator: 'Tool', memory: [], outputs: { result: 'found' }, usage, seconds: 1, error: null, calls };
  return { run: 'r1', workflow: '/w/flow.mmd', uri: null, diagram: 1, status: 'finished', started: 0, seconds: 1, usage, error: null, parent: null, inputs: {}, outputs: {}, text: null, nodes: [node], lost: [] };
};

describe('a call of a tool', () => {
  const pages = (...calls: Call[]) => [nodeHtml('r1', 'T', reportOf(...calls), 'finished', ''), nodePage(reportOf(...calls), 'T')];

  it('shows the tool, its arguments and what it gave', () => {
    for (const page of pages(call('tool', { text: 'found', fields: null }))) {
      for (const words of ['web.search', 'arguments', 'query', 'found', 'answered by the tool']) assert.ok(page.includes(words), words);
      assert.ok(!page.includes('may not be repeated'));
    }
    assert.ok(!pages(call('tool', { text: '' }))[0]?.includes('<b>a'));
    for (const page of pages(call('tool', { text: '{"n":1}', fields: { n: 1 } }))) assert.match(page, /n(&quot;|"): 1/);
    for (const page of pages(call('tool', { text: 'no room', failed: true }))) assert.match(page, /The tool says that it failed:\nno room/);
  });

  it('says once that it may not be repeated', () => {
    for (const page of pages(call('intent', {}, 'tool intent'), call('tool', { text: 'found' }))) {
      assert.equal(page.split('may not be repeated').length, 2);
      assert.ok(!page.includes('tool intent'));
    }
  });

  it('is cut where it is long', () => {
    for (const page of pages(call('tool', { text: 'x'.repeat(50_000) }))) assert.match(page, /x\n\.\.\. \(30,000 more characters\)/);
  });
});
