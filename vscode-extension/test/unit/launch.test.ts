import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import type { Choice } from '../../src/python/interpreter';
import { probe } from '../../src/python/probe';
import { thisMachine, which } from '../../src/python/path';
import { applied, launch } from '../../src/server/launch';

const root = path.resolve(__dirname, '../..');
const python: Extract<Choice, { kind: 'python' }> = {
  kind: 'python',
  source: 'path',
  facts: { executable: '/usr/bin/python3', version: [3, 12, 0], tag: 'cpython-312-linux-x86_64' },
  because: 'python3 is on the PATH',
  rejected: [],
};
const places = { extension: root, storage: '/storage' };

test('a Python runs the bundled parts, isolated, with its bytecode outside the extension', () => {
  const { command, args, cwd } = launch(python, places, {}, []);
  assert.equal(command, '/usr/bin/python3');
  assert.deepEqual(args.slice(0, 6), ['-I', '-S', '-X', 'utf8', '-X', `pycache_prefix=${path.join('/storage', 'bytecode')}`]);
  assert.deepEqual(args.slice(6), [path.join(root, 'bootstrap/start_server.py'), path.join(root, 'python/lib')]);
  assert.equal(cwd, root);
  assert.deepEqual(launch(python, places, {}, ['/packages', '/tools']).args.slice(-2), ['/packages', '/tools']);
});

test('what is taken away and was never there makes no other server', () => {
  const identity = (access: Record<string, undefined>, base: Record<string, string>) => launch(python, places, access, [], base).identity;
  const headers = { OPENAI_CUSTOM_HEADERS: undefined };
  assert.equal(identity(headers, {}), identity({}, {}));
  assert.equal(identity({}, { PATH: '/a' }), identity({}, { PATH: '/b' }));
  assert.notEqual(identity(headers, { OPENAI_CUSTOM_HEADERS: 'x' }), identity({}, { OPENAI_CUSTOM_HEADERS: 'x' }));
});

test('an installed merrow runs as it is', () => {
  const program = { kind: 'program', path: '/bin/merrow', because: '', rejected: [] } as const;
  assert.deepEqual([launch(program, places, {}, []).command, launch(program, places, {}, []).args], ['/bin/merrow', ['serve']]);
});

test('two launches are the same where command and environment are; no key can be read from the identity', () => {
  const key = (value: string | undefined, ...packages: string[]) => launch(python, places, { OPENAI_API_KEY: value }, packages).identity;
  assert.equal(key('sk-1'), key('sk-1'));
  const different = new Set([key('sk-1'), key('sk-2'), key(undefined), key('sk-1', '/packages')]);
  assert.equal(different.size, 4);
  assert.doesNotMatch(key('sk-1'), /sk-1/);
  assert.equal(launch({ ...python, because: 'it is nice' }, places, {}, []).identity, launch(python, places, {}, []).identity);
});

test("the environment is the editor's with what was changed, and without what was taken away", () => {
  assert.deepEqual(applied({ PATH: '/bin', OPENAI_API_KEY: 'sk', HOME: '/h' }, { OPENAI_API_KEY: undefined, HOME: '/g' }), { PATH: '/bin', HOME: '/g' });
});

let hostile: string;
before(async () => {
  hostile = await mkdtemp(path.join(os.tmpdir(), 'merrow-hostile-'));
  // Packages of the user's that would break everything if they were imported.
  for (const name of ['lark', 'attrs', 'typing_extensions', 'merrow_server', 'sitecustomize', 'usercustomize', 'json', 'asyncio']) {
    await writeFile(path.join(hostile, `${name}.py`), 'raise RuntimeError("a package of the user was imported")\n');
  }
});
after(() => rm(hostile, { recursive: true, force: true }));

test("the user's own packages, variables and files cannot break the server", async (context) => {
  const executable = await which('python3', thisMachine());
  const probed = executable === undefined ? undefined : await probe(executable, root);
  if (probed === undefined || 'problem' in probed || probed.facts.version[1] < 11) {
    context.skip('no Python 3.11 or newer here');
    return;
  }
  const started = launch({ ...python, facts: probed.facts }, { extension: root, storage: hostile }, {}, []);
  const say = (message: object): string => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  };
  const textDocument = { uri: 'untitled:a.mmd', languageId: 'mermaid', version: 1, text: 'flowchart TD\n    A[one --> B\n' };
  const input = [
    say({ id: 1, method: 'initialize', params: { processId: null, rootUri: null, capabilities: {} } }),
    say({ method: 'initialized', params: {} }),
    say({ method: 'textDocument/didOpen', params: { textDocument } }),
    say({ id: 2, method: 'textDocument/diagnostic', params: { textDocument } }),
    say({ id: 3, method: 'shutdown' }),
    say({ method: 'exit' }),
  ].join('');
  const env = { ...applied(process.env, started.environment), PYTHONPATH: hostile, PYTHONHOME: '/nowhere', PYTHONSTARTUP: hostile };
  const { stdout, stderr } = spawnSync(started.command, started.args, { cwd: hostile, env, input, encoding: 'utf8', timeout: 60_000 });
  assert.equal(stderr, '');
  assert.match(stdout, /"MW\d\d\d"/);
});
