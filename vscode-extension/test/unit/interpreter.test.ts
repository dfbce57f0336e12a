import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choose, explained, type Candidate, type Facts, type Probed, type Source } from '../../src/python/interpreter';

const facts = (executable: string, version: [number, number, number] = [3, 12, 1]): Facts => ({ executable, version, tag: 'cpython-312-x' });

/** A machine where these interpreters lie; what is not there can't be started. */
function machine(found: Record<string, [number, number, number]>) {
  const asked: string[] = [];
  const probe = (path: string): Promise<Probed> => {
    asked.push(path);
    const version = found[path];
    return Promise.resolve(version === undefined ? { problem: 'there is no such program.' } : { facts: facts(path, version) });
  };
  return { asked, probe };
}

const from =
  (source: Source, ...paths: string[]) =>
  (): Promise<Candidate[]> =>
    Promise.resolve(paths.map((path) => ({ source, path, because: `${source} has it` })));
const noProgram = (): Promise<undefined> => Promise.resolve(undefined);

test('the setting takes precedence over everything else, and nothing else is looked at', async () => {
  const { asked, probe } = machine({ '/mine': [3, 11, 0], '/usr/bin/python3': [3, 13, 0] });
  const choice = await choose([from('setting', '/mine'), from('path', '/usr/bin/python3')], probe, noProgram);
  assert.equal(choice.kind, 'python');
  assert.match(explained(choice), /^Python 3\.11\.0 at \/mine, because setting has it\.$/);
  assert.deepEqual(asked, ['/mine']);
});

test('a setting that does not do is told; nothing takes its place', async () => {
  const { probe } = machine({ '/usr/bin/python3': [3, 13, 0] });
  const choice = await choose([from('setting', '/gone'), from('path', '/usr/bin/python3')], probe, () => Promise.resolve('/usr/bin/merrow'));
  assert.equal(choice.kind, 'none');
  assert.match(explained(choice), /merrow\.python, \/gone, can't be used: there is no such program/);
});

test('what is too old is passed over, with the reason kept', async () => {
  const { probe } = machine({ '/venv/python': [3, 9, 2], '/usr/bin/python3': [3, 11, 7] });
  const choice = await choose([from('setting'), from('pythonExtension', '/venv/python'), from('path', '/usr/bin/python3')], probe, noProgram);
  assert.ok(choice.kind === 'python');
  assert.equal(choice.facts.executable, '/usr/bin/python3');
  assert.deepEqual(choice.rejected.map(({ candidate }) => candidate.path), ['/venv/python']);
  assert.match(choice.rejected[0]?.problem ?? '', /Python 3\.9\.2, and Merrow needs 3\.11 or newer/);
});

test('3.10 is too old, 3.11.0 and 4.0 are not', async () => {
  for (const [version, kind] of [[[3, 10, 99], 'none'], [[3, 11, 0], 'python'], [[4, 0, 0], 'python']] as const) {
    const { probe } = machine({ p: [...version] });
    assert.equal((await choose([from('path', 'p')], probe, noProgram)).kind, kind, version.join('.'));
  }
});

test('an installed merrow is the last resort', async () => {
  const { probe } = machine({ p: [3, 8, 0] });
  const choice = await choose([from('path', 'p')], probe, () => Promise.resolve('/home/me/.local/bin/merrow'));
  assert.equal(choice.kind, 'program');
  assert.match(explained(choice), /^The program \/home\/me\/\.local\/bin\/merrow, because no Python 3\.11/);
});

test('with nothing at all, the sentence says what is needed', async () => {
  const { probe } = machine({});
  const nothing = await choose([from('path')], probe, noProgram);
  assert.equal(explained(nothing), 'Merrow needs Python 3.11 or newer, and none was found.');
  const old = await choose([from('path', 'p')], machine({ p: [3, 8, 0] }).probe, noProgram);
  assert.match(explained(old), /The Python found, p, does not do: it is Python 3\.8\.0/);
});

test('one interpreter under two names is asked once', async () => {
  const { asked, probe } = machine({ p: [3, 8, 0] });
  await choose([from('pythonExtension', 'p'), from('path', 'p', 'q')], probe, noProgram);
  assert.deepEqual(asked, ['p', 'q']);
});
