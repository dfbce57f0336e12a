import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromEnvironments, fromPythonExtension, onDidChange, type Neighbour } from '../../src/python/extensions';

/** Another extension whose API is `api`, active or not. */
const neighbour = (api: unknown, isActive = true): Neighbour => ({
  isActive,
  exports: isActive ? api : undefined,
  activate: () => Promise.resolve(api),
});

const environments = { getEnvironment: () => Promise.resolve({ execInfo: { run: { executable: '/envs/python' } } }) };
const python = {
  environments: {
    getActiveEnvironmentPath: () => ({ id: '1', path: '/venv' }),
    resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: '/venv/bin/python' } } }),
  },
};

test('the interpreter of the Python Environments extension is taken, active or not', async () => {
  for (const active of [true, false]) {
    const [found] = await fromEnvironments(neighbour(environments, active), undefined);
    assert.equal(found?.path, '/envs/python');
    assert.equal(found.source, 'environments');
  }
});

test('the interpreter of the Python extension is the program, not the folder of the environment', async () => {
  assert.equal((await fromPythonExtension(neighbour(python), undefined))[0]?.path, '/venv/bin/python');
});

test('without resolution the path is taken as it is', async () => {
  const api = { environments: { getActiveEnvironmentPath: () => ({ path: '/usr/bin/python3' }) } };
  assert.equal((await fromPythonExtension(neighbour(api), undefined))[0]?.path, '/usr/bin/python3');
});

test('an extension that is missing, fails, or offers something else has no interpreter for us', async () => {
  const failing: Neighbour = { isActive: false, exports: undefined, activate: () => Promise.reject(new Error('no')) };
  const strange = [undefined, failing, neighbour(undefined), neighbour(null), neighbour({ environments: 7 }), neighbour({ getEnvironment: 1 })];
  const empty = [neighbour({ getEnvironment: () => undefined }), neighbour({ environments: { getActiveEnvironmentPath: () => undefined } })];
  for (const one of [...strange, ...empty]) {
    assert.deepEqual(await fromEnvironments(one, undefined), []);
    assert.deepEqual(await fromPythonExtension(one, undefined), []);
  }
});

test('changes of either extension are heard, and no longer after disposal', () => {
  const heard: (() => void)[] = [];
  const subscribe = (listener: () => void) => {
    heard.push(listener);
    return { dispose: () => heard.splice(heard.indexOf(listener), 1) };
  };
  let changes = 0;
  const listening = onDidChange(
    [
      neighbour({ onDidChangeEnvironment: subscribe }),
      neighbour({ environments: { onDidChangeActiveEnvironmentPath: subscribe } }),
      neighbour({ onDidChangeEnvironment: subscribe }, false),
      undefined,
    ],
    () => (changes += 1),
  );
  assert.equal(heard.length, 2);
  for (const listener of [...heard]) listener();
  assert.equal(changes, 2);
  for (const one of listening) one.dispose();
  assert.equal(heard.length, 0);
});
