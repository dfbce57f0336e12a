import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { pythonNames, which } from '../../src/python/path';
import { probe, read } from '../../src/python/probe';
import { namedPython } from '../../src/python/setting';

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'merrow-probe-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function program(name: string, text: string): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  await chmod(file, 0o755);
  return file;
}

test('a real Python says its version, its path and what compiled packages must be for', async () => {
  const python = await which('python3', { windows: false, path: process.env['PATH'] ?? '', endings: '' });
  assert.ok(python !== undefined, 'these tests need a python3 on the PATH');
  const probed = await probe(python, folder);
  assert.ok('facts' in probed);
  assert.equal(probed.facts.version[0], 3);
  assert.match(probed.facts.tag, /^\w+-\d+-\w+/);
});

test('what is not valid Python is told in a sentence, whatever it does', async () => {
  const cases: [string, RegExp][] = [
    [path.join(folder, 'missing'), /there is no such program/],
    [await program('chatty', '#!/bin/sh\necho hello'), /does not answer as a Python does/],
    [await program('broken', '#!/bin/sh\necho "bad interpreter day" >&2; exit 9'), /can't be started \(bad interpreter day\)/],
    [await program('python2', '#!/bin/sh\necho "Unknown option: -I" >&2; exit 2'), /it is Python 2/],
  ];
  for (const [file, expected] of cases) {
    const probed = await probe(file, folder);
    assert.ok('problem' in probed, file);
    assert.match(probed.problem, expected);
  }
});

test('a program that never answers is given up', async () => {
  const probed = await probe(await program('endless', '#!/bin/sh\nexec sleep 600'), folder, 0.2);
  assert.ok('problem' in probed);
  assert.match(probed.problem, /did not answer within 0\.2 seconds/);
});

test('an answer of the wrong form is not an answer', () => {
  for (const answer of ['', '[]', '[[3,11],"/p","t"]', '[[3,"11",1],"/p","t"]', '[[3,11,1],"","t"]', '{"a":1}']) {
    assert.ok('problem' in read(answer), answer);
  }
  assert.deepEqual(read('banner of a wrapper\n[[3, 11, 1], "/p", "t"]\n'), { facts: { executable: '/p', version: [3, 11, 1], tag: 't' } });
});

test('the PATH is searched in order; relative folders, which lead into the workspace, are not', async () => {
  const first = path.dirname(await program('one/tool', 'x'));
  const second = path.dirname(await program('two/tool', 'x'));
  await mkdir(path.join(folder, 'zero/tool'), { recursive: true });
  const search = (...parts: string[]) => which('tool', { windows: false, path: parts.join(':'), endings: '' });
  assert.equal(await search(path.join(folder, 'zero'), second, first), path.join(second, 'tool'));
  assert.equal(await search('.', '', path.relative(process.cwd(), first)), undefined);
});

test('on Windows only programs with an ending of a program count, never scripts', async () => {
  const place = path.dirname(await program('win/python.EXE', 'x'));
  await program('win/merrow.cmd', 'x');
  const windows = { windows: true, path: place, endings: '.CMD;.EXE' };
  assert.equal(await which('python', windows), path.join(place, 'python.EXE'));
  assert.equal(await which('merrow', windows), undefined);
  assert.equal(pythonNames(windows)[0], 'python');
});

test('the setting may be a name, a path, or a path from the home or workspace folder', () => {
  const surroundings = { folder: '/project', home: '/home/me' };
  assert.equal(namedPython('  ', surroundings), undefined);
  assert.deepEqual(namedPython('python3.12', surroundings), { name: 'python3.12' });
  assert.deepEqual(namedPython('/usr/bin/python3', surroundings), { path: '/usr/bin/python3' });
  assert.deepEqual(namedPython('~/v/bin/python', surroundings), { path: '/home/me/v/bin/python' });
  assert.deepEqual(namedPython('.venv/bin/python', surroundings), { path: '/project/.venv/bin/python' });
  assert.deepEqual(namedPython('${workspaceFolder}/.venv/bin/python', surroundings), { path: '/project/.venv/bin/python' });
});
