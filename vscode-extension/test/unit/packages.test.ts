import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { explainFailure, withoutSecrets } from '../../src/models/failure';
import { TOOLS, allInstalled, install, installed, packagesFolder, remove, requirement } from '../../src/models/packages';
import type { Facts } from '../../src/python/interpreter';
import { thisMachine, which } from '../../src/python/path';
import { probe } from '../../src/python/probe';

let storage: string;
let places: { storage: string; constraints: string };
beforeEach(async () => {
  storage = await mkdtemp(path.join(os.tmpdir(), 'merrow-models-'));
  places = { storage, constraints: path.join(storage, 'constraints.txt') };
  await writeFile(places.constraints, 'typing_extensions==4.16.0\n');
});
afterEach(() => rm(storage, { recursive: true, force: true }));

async function realPython(): Promise<Facts> {
  const found = await which('python3', thisMachine());
  assert.ok(found !== undefined, 'these tests need a python3 on the PATH');
  const probed = await probe(found, storage);
  assert.ok('facts' in probed);
  return probed.facts;
}

/** A program in the place of a Python, which installs by making a folder; `fails` are the commands (of pip, or "proof") that don't work. */
async function fakePython(...fails: string[]): Promise<Facts> {
  const executable = path.join(storage, 'fake-python');
  const refuse = fails.map((word) => `case "$*" in *"${word}"*) echo "ERROR: ${word} said no" >&2; exit 1;; esac`).join('\n');
  await writeFile(executable, `#!/bin/sh\n${refuse}\necho "Collecting openai"\n`);
  await chmod(executable, 0o755);
  return { executable, version: [3, 12, 0], tag: 'cpython-312-linux-x86_64' };
}

const ignore = () => undefined;
const never = new AbortController().signal;

test('packages are noted for one interpreter in one version', async () => {
  const facts = await fakePython();
  assert.equal(await installed(storage, facts), undefined);
  const folder = await install(facts, places, ignore, never);
  assert.equal(folder, packagesFolder(storage, facts));
  assert.equal(await installed(storage, facts), folder);
  assert.equal(await installed(storage, { ...facts, tag: 'cpython-313-linux-x86_64' }), undefined);
  await writeFile(path.join(folder, 'merrow-installed.json'), JSON.stringify({ requirement: 'openai[aiohttp]==1.0' }));
  assert.equal(await installed(storage, facts), undefined);
  const tools = await install(facts, places, ignore, never, TOOLS);
  assert.equal(tools, packagesFolder(storage, facts, TOOLS));
  assert.deepEqual(await allInstalled(storage, facts), [tools]);
  await install(facts, places, ignore, never);
  assert.deepEqual(await allInstalled(storage, facts), [folder, tools]);
  await remove(storage);
  assert.deepEqual(await readdir(storage), ['constraints.txt', 'fake-python']);
});

test('what was set up stays when setting it up again fails, and nothing half-made is left', async () => {
  const facts = await fakePython();
  const folder = await install(facts, places, ignore, never);
  await writeFile(path.join(folder, 'kept'), '');
  for (const failing of ['install', 'import openai']) {
    await fakePython(failing);
    await assert.rejects(install(facts, places, ignore, never), new RegExp(`${failing} said no`));
    assert.ok((await readdir(folder)).includes('kept'));
    assert.deepEqual(await readdir(path.dirname(folder)), [path.basename(folder)]);
  }
});

test('a Python without pip gets one from an environment of its own; without venv too the sentence says what to do', async () => {
  const facts = await fakePython('-m pip', '-m venv');
  await assert.rejects(install(facts, places, ignore, never), /-m venv said no/);
  assert.match(explainFailure('/usr/bin/python3: No module named venv'), /neither pip nor venv.*python3-venv/);
});

test('progress is reported line by line, and cancelling ends it', async () => {
  const facts = await fakePython();
  const lines: string[] = [];
  await install(facts, places, (line) => lines.push(line), never);
  assert.ok(lines.includes('Collecting openai'));
  const abort = new AbortController();
  await writeFile(facts.executable, '#!/bin/sh\nexec sleep 600\n');
  const going = install(facts, places, ignore, abort.signal);
  abort.abort();
  await assert.rejects(going, /It was cancelled/);
});

test('offline: a real pip that reaches no index fails with one clear sentence', async () => {
  const facts = await realPython();
  const saved = process.env;
  process.env = { ...saved, PIP_INDEX_URL: 'http://127.0.0.1:9/simple', PIP_RETRIES: '0', PIP_CONFIG_FILE: os.devNull, PIP_NO_CACHE_DIR: '1', PIP_FIND_LINKS: '' };
  try {
    await assert.rejects(install(facts, places, ignore, never), /^Error: The package index can't be reached\. Connect to the network/);
  } finally {
    process.env = saved;
  }
  assert.equal(await installed(storage, facts), undefined);
});

test('the requirement is pinned, and a real pip understands it together with the constraints', async () => {
  assert.match(requirement, /^openai\[aiohttp\]==\d+\.\d+\.\d+$/);
  const check = 'from pip._vendor.packaging.requirements import Requirement; import sys; print(Requirement(sys.argv[1]).name)';
  const { stdout } = await promisify(execFile)((await realPython()).executable, ['-c', check, requirement]);
  assert.equal(stdout.trim(), 'openai');
});

test('causes of failures are told apart', () => {
  const cases: [string, RegExp][] = [
    ['ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device', /no room left/],
    ["[Errno 13] Permission denied: '/x'", /storage folder can't be written/],
    ['SSLError(SSLCertVerificationError(1, "CERTIFICATE_VERIFY_FAILED"))', /certificate isn't trusted/],
    ['Failed to establish a new connection: [Errno -3] Temporary failure in name resolution\nERROR: No matching distribution found', /can't be reached/],
    ['ERROR: Could not find a version (from versions: 3.1, 3.2)\nERROR: No matching distribution found', /no packages for this Python/],
    ['ERROR: Could not find a version (from versions: none)\nERROR: No matching distribution found', /can't be reached/],
    ['strange\nthe last word', /^The installation failed: the last word$/],
    ['', /without a word/],
  ];
  for (const [output, expected] of cases) assert.match(explainFailure(output), expected);
});

test('a password in the address of an index is not shown', () => {
  assert.equal(withoutSecrets('Looking in indexes: https://me:secret@host/simple'), 'Looking in indexes: https://***@host/simple');
  assert.doesNotMatch(explainFailure('bad thing at https://me:secret@host/simple'), /secret/);
});
