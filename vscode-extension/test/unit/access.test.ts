import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide, variables, type Answer, type Decision, type Situation } from '../../src/access/decide';
import { address } from '../../src/access/origin';
import { AccessStore } from '../../src/access/store';

const hosted = 'https://api.openai.com';
const evil = 'https://evil.example';

function situation(changes: Partial<Situation> & { stored?: Record<string, string>; answers?: Record<string, Answer> } = {}): Situation {
  const { stored = {}, answers = {}, ...rest } = changes;
  return {
    trusted: true,
    environment: { key: undefined, endpoint: undefined },
    userEndpoint: undefined,
    workspaceEndpoint: undefined,
    answer: (origin) => answers[origin],
    storedKey: (origin) => stored[origin],
    ...rest,
  };
}

/** The two variables that matter most. */
function main(decision: Decision) {
  const { OPENAI_API_KEY, OPENAI_BASE_URL } = variables(decision);
  return { OPENAI_API_KEY, OPENAI_BASE_URL };
}

test('without a key and an endpoint nothing is set, so that the embedded model answers', () => {
  assert.deepEqual(main(decide(situation())), { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined });
});

test("the environment's key and endpoint are used as the openai package would", () => {
  const decision = decide(situation({ environment: { key: 'sk-e', endpoint: 'http://localhost:4000/v1/' } }));
  assert.deepEqual(main(decision), { OPENAI_API_KEY: 'sk-e', OPENAI_BASE_URL: 'http://localhost:4000/v1' });
  assert.deepEqual([decision.endpointFrom, decision.keyFrom], ['environment', 'environment']);
});

test('a stored key takes precedence over that of the environment', () => {
  const decision = decide(situation({ environment: { key: 'sk-e', endpoint: undefined }, stored: { [hosted]: 'sk-s' } }));
  assert.deepEqual([decision.key, decision.keyFrom], ['sk-s', 'secret storage']);
});

test('in Restricted Mode there is neither key nor endpoint, wherever they come from', () => {
  const all = { stored: { [hosted]: 'a', [evil]: 'b' }, answers: { [evil]: 'granted' } as const, userEndpoint: evil, workspaceEndpoint: evil };
  const decision = decide(situation({ ...all, trusted: false, environment: { key: 'c', endpoint: hosted } }));
  assert.deepEqual(main(decision), { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined });
  assert.equal(decision.ask, undefined);
});

test("a workspace's endpoint waits for the user's consent; until then and after a refusal the user's own holds", () => {
  const given = { workspaceEndpoint: `${evil}/v1`, environment: { key: 'sk-e', endpoint: undefined } };
  const undecided = decide(situation(given));
  assert.equal(undecided.ask, evil);
  assert.deepEqual(main(undecided), { OPENAI_API_KEY: 'sk-e', OPENAI_BASE_URL: undefined });
  const no = decide(situation({ ...given, answers: { [evil]: 'refused' } }));
  assert.equal(no.ask, undefined);
  assert.deepEqual(main(no), main(undecided));
});

test("with consent the workspace's endpoint is used, and still gets no key but its own", () => {
  const given = { workspaceEndpoint: `${evil}/v1`, environment: { key: 'sk-e', endpoint: undefined }, answers: { [evil]: 'granted' } as const };
  assert.deepEqual(main(decide(situation({ ...given, stored: { [hosted]: 'sk-s' } }))), {
    OPENAI_API_KEY: undefined,
    OPENAI_BASE_URL: `${evil}/v1`,
  });
  assert.equal(decide(situation({ ...given, stored: { [evil]: 'sk-for-it' } })).key, 'sk-for-it');
});

test('a workspace that names the endpoint that the user has anyway need not be asked about', () => {
  const decision = decide(situation({ workspaceEndpoint: `${hosted}/v1`, stored: { [hosted]: 'sk-s' } }));
  assert.deepEqual([decision.ask, decision.key, decision.endpointFrom], [undefined, 'sk-s', 'workspace']);
});

test("the environment's other variables go along with its own endpoint and with no other, nor in Restricted Mode", () => {
  const taken = (changes: Parameters<typeof situation>[0]) => 'OPENAI_CUSTOM_HEADERS' in variables(decide(situation(changes)));
  assert.equal(taken({}), false);
  assert.equal(taken({ environment: { key: 'sk-e', endpoint: 'https://mine.example/v1' } }), false);
  assert.equal(taken({ userEndpoint: 'https://mine.example/v1' }), true);
  assert.equal(taken({ workspaceEndpoint: evil, answer: () => 'granted' }), true);
  assert.equal(taken({ trusted: false }), true);
});

test('the embedded model can be named, gets no key, and a workspace may choose it unasked', () => {
  const decision = decide(situation({ workspaceEndpoint: 'Offline', environment: { key: 'sk-e', endpoint: undefined }, stored: { [hosted]: 's' } }));
  assert.deepEqual(main(decision), { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: 'offline' });
  assert.equal(decision.ask, undefined);
});

test('an origin is scheme, host and port: what looks alike is another one', () => {
  const stored = { [hosted]: 'sk-s' };
  for (const other of ['http://api.openai.com/v1', 'https://api.openai.com:8443/v1', 'https://api.openai.com.evil.example/v1']) {
    const decision = decide(situation({ workspaceEndpoint: other, stored }));
    assert.equal(decision.ask, new URL(other).origin);
    const allowed = decide(situation({ workspaceEndpoint: other, stored, answer: () => 'granted' }));
    assert.equal(allowed.key, undefined, other);
  }
});

test('never, in any situation, does a key go to an origin that it was not given for', () => {
  const urls = [undefined, '', 'nonsense', hosted, `${hosted}/v1`, 'https://mine.example/v1', `${evil}/v1`, 'https://u:p@mine.example/v1'];
  const owners: Record<string, string> = { [hosted]: 'stored-hosted', 'https://mine.example': 'stored-mine' };
  const originOf = (url: string | undefined): string => new URL(url === undefined || url === '' ? hosted : url).origin;
  let keys = 0;
  for (const trusted of [true, false])
    for (const own of urls)
      for (const user of urls)
        for (const workspace of urls)
          for (const answer of [undefined, 'granted', 'refused'] as const)
            for (const stored of [{}, owners]) {
              const environment = { key: 'inherited', endpoint: own };
              const given = { trusted, environment, userEndpoint: user, workspaceEndpoint: workspace, answer: () => answer, stored };
              const { key, endpoint, endpointFrom } = decide(situation(given));
              const target = originOf(endpoint);
              if (key === 'inherited') assert.equal(target, originOf(own === 'nonsense' ? evil : own));
              else if (key !== undefined) assert.equal(owners[target], key);
              if (key !== undefined) {
                keys += 1;
                assert.ok(trusted);
              }
              if (endpointFrom === 'workspace' && answer !== 'granted') {
                const mine = decide(situation({ ...given, workspaceEndpoint: undefined }));
                assert.equal(target, originOf(mine.endpoint));
              }
            }
  assert.ok(keys > 100, 'most situations of this test should give a key');
});

test('an address that hides a password, or is none, is told and left out', () => {
  const decision = decide(situation({ userEndpoint: 'https://me:secret@host/v1' }));
  assert.equal(decision.endpoint, undefined);
  assert.match(decision.problems.join(), /^The endpoint of your settings is not used: its address holds a user name or a password/);
  assert.doesNotMatch(decision.problems.join(), /secret/);
  for (const bad of ['ftp://host', 'localhost:11434', 'https://host/v1?key=1', 'host/v1']) assert.ok('problem' in address(bad), bad);
});

/** Secrets and state as VS Code keeps them, in memory. */
function memory(stored: () => void = () => undefined) {
  const kept = { secrets: new Map<string, string>(), state: new Map<string, unknown>() };
  const secrets = {
    get: (name: string) => Promise.resolve(kept.secrets.get(name)),
    store: (name: string, value: string) => {
      kept.secrets.set(name, value);
      stored();
      return Promise.resolve();
    },
    delete: (name: string) => Promise.resolve(void kept.secrets.delete(name)),
  };
  const state = {
    get: (name: string, otherwise?: unknown): never => (kept.state.get(name) ?? otherwise) as never,
    update: (name: string, value: unknown) => Promise.resolve(void kept.state.set(name, value)),
  };
  return { kept, store: new AccessStore(secrets, state) };
}

test('keys are stored by origin, in the secret storage only, and cleared', async () => {
  const { kept, store } = memory();
  await store.setKey(hosted, 'sk-1');
  await store.setKey(evil, 'sk-2');
  await store.setKey(hosted, 'sk-3');
  assert.deepEqual([...(await store.keys())], [[hosted, 'sk-3'], [evil, 'sk-2']]);
  assert.doesNotMatch(JSON.stringify([...kept.state]), /sk-/);
  await store.clearKey(hosted);
  assert.deepEqual([...(await store.keys())], [[evil, 'sk-2']]);
  assert.deepEqual(store.origins(), [evil]);
});

test('whoever hears that a secret changed finds it', async () => {
  const heard: Promise<ReadonlyMap<string, string>>[] = [];
  const { store } = memory(() => heard.push(store.keys()));
  await store.setKey(hosted, 'sk-1');
  const [found] = await Promise.all(heard);
  assert.equal(found?.get(hosted), 'sk-1');
});

test('an answer holds for one origin in one workspace', async () => {
  const { store } = memory();
  await store.setAnswer('file:///a', evil, 'granted');
  assert.equal(store.answer('file:///a', evil), 'granted');
  assert.equal(store.answer('file:///b', evil), undefined);
  assert.equal(store.answer('file:///a', hosted), undefined);
  assert.equal(store.answer('file:///a', 'constructor'), undefined);
  await store.setAnswer('file:///a', evil, 'refused');
  assert.equal(store.answer('file:///a', evil), 'refused');
  await store.forgetAnswers();
  assert.equal(store.answer('file:///a', evil), undefined);
});
