import assert from 'node:assert/strict';
import { test } from 'node:test';
import { infoPage, type Facts } from '../../src/commands/info';
import { hasMermaidFence } from '../../src/fences';
import { decide } from '../../src/access/decide';
import { refused } from '../../src/server/restricted';
import { Tail } from '../../src/server/tail';
import { shownStatus } from '../../src/statusText';

test('a mermaid fence is seen wherever Markdown allows one', () => {
  const fences = ['```mermaid', '~~~ mermaid', '   ```` Mermaid {x}', '> ```mermaid', '- ```mermaid', '1. ```mermaid', '```{mermaid}', '\t```mermaid', '```mmd', '::: mermaid', ':::mermaid'];
  for (const fence of fences) assert.ok(hasMermaidFence(`# Title\n\n${fence}\nflowchart TD\n`), fence);
});

test('prose and other fences are none', () => {
  for (const text of ['', 'We draw with mermaid.', '```js\nmermaid\n```', '``mermaid``', '```mermaids', 'a ```mermaid']) {
    assert.ok(!hasMermaidFence(text), text);
  }
});

test('the status says ready, checking, running, starting, failed', () => {
  const ready = { state: 'ready' } as const;
  const text = (...given: Parameters<typeof shownStatus>) => shownStatus(...given).text;
  assert.equal(text(ready, []), 'Merrow: ready');
  assert.equal(text(ready, [{ kind: 'checking', detail: undefined }]), 'Merrow: checking');
  assert.equal(text(ready, [{ kind: 'checking', detail: undefined }, { kind: 'running', detail: '3 of 5 nodes' }]), 'Merrow: running');
  assert.equal(text({ state: 'starting' }, []), 'Merrow: starting');
  const failed = shownStatus({ state: 'failed', reason: 'No Python.', remedy: 'python' }, [{ kind: 'running', detail: undefined }]);
  assert.deepEqual([failed.text, failed.detail, failed.severity, failed.busy], ['Merrow: failed', 'No Python.', 'Error', false]);
  assert.equal(shownStatus({ state: 'waiting', reason: 'It ended.', seconds: 2 }, []).severity, 'Warning');
});

test('in Restricted Mode only commands that read and rewrite text are let through', () => {
  const execute = (command: unknown, trusted = false) => refused(trusted, 'workspace/executeCommand', { command });
  for (const command of ['merrow.fix', 'merrow.graph', 'merrow.mutate', 'merrow.explain']) assert.equal(execute(command), false, command);
  for (const command of ['merrow.run', 'merrow.resume', 'merrow.runFrom', 'merrow.optimize', 'merrow.somethingNew', undefined, 7]) {
    assert.equal(execute(command), true, String(command));
    assert.equal(execute(command, true), false, String(command));
  }
  assert.equal(refused(false, 'workspace/executeCommand', undefined), true);
  assert.equal(refused(false, 'textDocument/hover', {}), false);
});

test('the tail keeps the last line that says something', () => {
  const tail = new Tail(3);
  assert.equal(tail.last, '');
  for (const text of ['Trace', 'back:\n  File\nValue', 'Error: no\r\n', '\n  \n']) tail.add(text);
  assert.equal(tail.last, 'ValueError: no');
  for (let number = 0; number < 1000; number += 1) tail.add(`line ${number}\n`);
  assert.equal(tail.last, 'line 999');
});

const facts: Facts = {
  extension: '0.1.0',
  editor: 'Code 1.139.1',
  platform: 'linux x64',
  trusted: true,
  life: { state: 'ready' },
  pid: 42,
  choice: {
    kind: 'python',
    source: 'path',
    facts: { executable: '/usr/bin/python3', version: [3, 12, 1], tag: 't' },
    because: 'python3 is on the PATH',
    rejected: [{ candidate: { source: 'pythonExtension', path: '/old', because: 'the Python extension has it selected' }, problem: 'it is Python 3.9.0.' }],
  },
  command: ['/usr/bin/python3', '-I', "/it's here/start.py"],
  decision: decide({
    trusted: true,
    environment: { key: 'sk-secret', endpoint: undefined },
    userEndpoint: undefined,
    workspaceEndpoint: 'https://team.example/v1',
    answer: () => undefined,
    storedKey: () => undefined,
  }),
  packages: undefined,
};

test('the server info says what was chosen, why, and what was passed over; never a key', () => {
  const page = infoPage(facts);
  assert.match(page, /Server: ready, process 42/);
  assert.match(page, /Python 3\.12\.1 at \/usr\/bin\/python3, because python3 is on the PATH\./);
  assert.ok(page.includes(`\n/usr/bin/python3 -I '/it'\\''s here/start.py'\n`));
  assert.match(page, /Passed over: \/old \(the Python extension has it selected\): it is Python 3\.9\.0\./);
  assert.match(page, /API key: from environment/);
  assert.match(page, /wants to use https:\/\/team\.example; that was not allowed yet/);
  assert.doesNotMatch(page, /sk-secret/);
});

test('the server info of a failure and of Restricted Mode', () => {
  const reason = 'Merrow needs Python 3.11 or newer, and none was found.';
  const page = infoPage({ ...facts, trusted: false, pid: undefined, life: { state: 'failed', reason, remedy: 'python' }, choice: undefined });
  assert.match(page, /Server: failed: Merrow needs Python 3\.11/);
  assert.match(page, /Off in Restricted Mode/);
});
