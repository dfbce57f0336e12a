import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choices, usedSentence } from '../../src/models/served';

const place = { source: 'found', used: false, ok: true, sentence: 'It answers and has no model.' };

test('each model of each endpoint is a choice, and an endpoint without models says why', () => {
  const found = choices([
    { ...place, base_url: 'http://a/v1', used: true, models: ['big', 'small'] },
    { ...place, base_url: 'http://127.0.0.1:8080/v1', models: [] },
  ]);
  assert.deepEqual(
    found.map(({ label, description, url, model }) => [label, description, url, model]),
    [
      ['big', 'http://a/v1 (used now)', 'http://a/v1', 'big'],
      ['small', 'http://a/v1 (used now)', 'http://a/v1', 'small'],
      ['It answers and has no model.', 'http://127.0.0.1:8080/v1 (found on this machine)', 'http://127.0.0.1:8080/v1', undefined],
    ],
  );
});

test('what is used from now on is said, with what goes before it', () => {
  const used = { path: '/c/config.toml', base_url: 'http://a/v1', model: 'small', note: '' };
  assert.equal(usedSentence(used), 'Runs ask small at http://a/v1 from now on, as /c/config.toml says.');
  assert.match(usedSentence({ ...used, note: 'OPENAI_BASE_URL goes before.' }), /says\. OPENAI_BASE_URL goes before\.$/);
});
