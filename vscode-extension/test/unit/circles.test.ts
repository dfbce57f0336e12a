import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';

const SOURCE = resolve('src');

/** The modules of a folder that each one imports, also for types alone. */
function importsOf(folder: string): Map<string, string[]> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
  const known = new Set(files);
  const at = (file: string, named: string) => [`${resolve(dirname(file), named)}.ts`, join(resolve(dirname(file), named), 'index.ts')].find((one) => known.has(one));
  return new Map(files.map((file) => {
    const named = [...readFileSync(file, 'utf8').matchAll(/ from '(\.[^']*)'/g)].map((found) => at(file, found[1] ?? ''));
    return [file, named.filter((one) => one !== undefined)];
  }));
}

test('no modules import each other in a circle', () => {
  const left = importsOf(SOURCE);
  assert.ok(left.size > 50, 'the source was read');
  // Modules that import none of those that are left are in no circle.
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const [file, named] of left) if (!named.some((one) => left.has(one))) left.delete(file);
  }
  assert.deepEqual([...left.keys()].map((file) => file.slice(SOURCE.length + 1)), []);
});
