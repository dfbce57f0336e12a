// Runs the end-to-end tests in a real workbench: node test/e2e/run.mjs [NAME...]; names are parts of file names anywhere below tests/.
// Without names it runs those in tests/, as `make test` does; in `make test-all` (MERROW_TEST_ALL) those in tests/all/, too. --list says what
// would run. What did not run is written into the file that MERROW_NOT_RUN names, for the last line of `make test`.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { e2e, extension, missing, node, shots } from './support/places.mjs';
import { testAll } from './support/sizes.mjs';

/** Files that are tried a second time; where more fail, something is broken. */
const MOST_AGAIN = 2;
const SIGNALS = ['SIGINT', 'SIGTERM'];
const reporter = pathToFileURL(path.join(e2e, 'support', 'failed.mjs')).href;

const options = process.argv.slice(2).filter((word) => word.startsWith('--'));
const named = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const always = inFolder('tests');
const others = inFolder('tests', 'all');
const files = chosen();
if (files.length === 0) {
  console.error(`No file below tests/ has ${named.join(' or ')} in its name.`);
  process.exit(2);
}
if (options.includes('--list')) {
  for (const file of files) console.log(path.relative(e2e, file));
  process.exit(0);
}
const why = missing();
if (why.length > 0) {
  console.log(`The end-to-end tests can't run here. ${why.join(' ')}`);
  notRun(`the workbench (${why.join(' ')})`);
  process.exit(process.env.E2E_REQUIRED ? 1 : 0);
}
if (named.length === 0 && !testAll) notRun(`${others.length} suites of the workbench (\`make test-all\`)`);
if (named.length === 0) rmSync(shots, { recursive: true, force: true });
const scratch = mkdtempSync(path.join(os.tmpdir(), 'merrow-e2e-failed-'));
const list = path.join(scratch, 'files');
let code = await run(files);
const failed = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter((file) => file !== '') : [];
if (code !== 0 && failed.length > 0 && failed.length <= MOST_AGAIN) {
  // The workbench is not ours, and neither is the time that it takes: what fails twice, in a new window, is broken.
  const names = failed.map((file) => path.basename(file)).join(', ');
  console.log(`\nA second try, in a new workbench: ${names}\n`);
  code = await run(failed);
  if (code === 0) console.log(`\nUNSTABLE: failed at first and passed at the second try: ${names}\n`);
}
rmSync(scratch, { recursive: true, force: true });
process.exit(code);

function inFolder(...folder) {
  const found = readdirSync(path.join(e2e, ...folder)).filter((name) => name.endsWith('.test.mjs'));
  return found.toSorted().map((name) => path.join(e2e, ...folder, name));
}

function chosen() {
  if (named.length > 0) return [...always, ...others].filter((file) => named.some((part) => path.basename(file).includes(part)));
  return testAll ? [...always, ...others] : always;
}

function notRun(line) {
  if (process.env.MERROW_NOT_RUN) writeFileSync(process.env.MERROW_NOT_RUN, `${line}\n`);
}

/** Run test files in one process, one after the other: they share servers and the browser. Resolves with the exit code. */
function run(some) {
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout', `--test-reporter=${reporter}`, `--test-reporter-destination=${list}`];
  const tests = spawn(node, ['--test', '--test-isolation=none', ...reporters, ...some], { cwd: extension, stdio: 'inherit' });
  const stop = (name) => tests.kill(name);
  for (const name of SIGNALS) process.on(name, stop);
  return new Promise((resolve) => {
    tests.on('exit', (status, signal) => {
      for (const name of SIGNALS) process.off(name, stop);
      if (signal !== null) process.exit(1);
      resolve(status ?? 1);
    });
  });
}
