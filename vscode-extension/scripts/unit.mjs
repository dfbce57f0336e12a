// Bundle the unit tests and run them with Node's own runner: node scripts/unit.mjs [FILE...]
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { bundlePython } from './python.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const folder = 'test/unit';
const named = process.argv.slice(2);
const all = readdirSync(path.join(root, folder), { recursive: true }).filter((name) => name.endsWith('.test.ts'));
const entryPoints = named.length > 0 ? named : all.map((name) => path.join(folder, name));

bundlePython();
rmSync(path.join(root, 'out/unit'), { recursive: true, force: true });
await esbuild.build({
  absWorkingDir: root,
  entryPoints,
  outdir: 'out/unit',
  outbase: folder,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode', 'vscode-textmate', 'vscode-oniguruma'],
  sourcemap: 'inline',
  logLevel: 'warning',
});
const built = entryPoints.map((name) => path.join(root, 'out/unit', path.relative(folder, name).replace(/\.ts$/, '.cjs')));
const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...built], { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
