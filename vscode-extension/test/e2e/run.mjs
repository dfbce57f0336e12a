// Runs the end-to-end tests in a real workbench: node test/e2e/run.mjs [NAME...]; names are parts of file names in tests/.
import { spawn } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { e2e, extension, missing, node, shots } from './support/places.mjs';

const why = missing();
if (why.length > 0) {
  console.log(`The end-to-end tests can't run here. ${why.join(' ')}`);
  process.exit(process.env.E2E_REQUIRED ? 1 : 0);
}
const named = process.argv.slice(2);
const files = readdirSync(path.join(e2e, 'tests'))
  .filter((name) => name.endsWith('.test.mjs') && (named.length === 0 || named.some((part) => name.includes(part))))
  .map((name) => path.join(e2e, 'tests', name));
if (files.length === 0) {
  console.error(`No file in tests/ has ${named.join(' or ')} in its name.`);
  process.exit(2);
}
if (named.length === 0) rmSync(shots, { recursive: true, force: true });
// All files in one process, one after the other: they share servers and the browser.
const tests = spawn(node, ['--test', '--test-isolation=none', '--test-reporter=spec', ...files], { cwd: extension, stdio: 'inherit' });
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => tests.kill(name));
tests.on('exit', (code) => process.exit(code ?? 1));
