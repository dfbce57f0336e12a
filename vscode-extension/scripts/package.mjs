// Make merrow.vsix: collect the Python parts, bundle, package, and say how large it is. node scripts/package.mjs [--out FILE.vsix]
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundlePython } from './python.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({ options: { out: { type: 'string', default: path.join(root, 'merrow.vsix') } } });
const file = path.resolve(values.out);
const limit = 6_000_000;

const run = (command, ...given) => execFileSync(command, given, { cwd: root, stdio: 'inherit' });

/** A Node that vsce runs on: this one, or the one that the tests' packages bring along. */
function recentNode() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const modules = path.join(root, '../tests/oracle/node_modules');
  const names = existsSync(modules) ? readdirSync(modules).filter((name) => /^node-/.test(name)) : [];
  const found = names.map((name) => path.join(modules, name, 'bin/node')).find((binary) => existsSync(binary));
  if (found !== undefined) return found;
  throw new Error('Packaging needs Node 22 or newer: install one, or run npm ci in tests/oracle, which brings one along.');
}

bundlePython();
run(process.execPath, 'scripts/build.mjs');
const options = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links', '--out', file];
// The search for secrets in what is packed takes half a minute; `make vsix` and `make dist`, which people install, have it, `make test` has not.
if (process.env.VSIX_UNSEARCHED) options.push('--allow-package-all-secrets');
const { status, stdout, stderr } = spawnSync(recentNode(), ['node_modules/@vscode/vsce/vsce', 'package', ...options], { cwd: root, encoding: 'utf8' });
const said = `${stdout}${stderr}`;
if (status !== 0 || /\bWARNING\b/.test(said)) {
  process.stderr.write(said);
  process.exit(status || 1);
}
const size = statSync(file).size;
process.stdout.write(`${path.relative(process.cwd(), file)}: ${(size / 1e6).toFixed(2)} MB\n`);
if (size > limit) {
  process.stderr.write(`That is more than the ${limit / 1e6} MB that the extension may have.\n`);
  process.exit(1);
}
