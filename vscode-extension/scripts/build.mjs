// Bundle the extension and what runs in its webviews: node scripts/build.mjs [--watch] [--development]
// or only what the Python packages draw with, and the licences of it: the engine for `merrow render`, and for `merrow view` the
// preview and the pages around it, into a folder: node scripts/build.mjs --engine FOLDER
import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { licences } from './licences.mjs';
import { onlyFlowcharts } from '../webview/onlyFlowcharts.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const development = process.argv.includes('--development') || process.argv.includes('--watch');
const common = {
  absWorkingDir: root,
  bundle: true,
  minify: !development,
  sourcemap: development ? 'linked' : false,
  legalComments: 'linked',
  logLevel: 'warning',
  metafile: true,
};

const extension = {
  ...common,
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
};

// Every webview/<name>/main.ts becomes dist/webview/<name>.js, with the styles that it imports beside it.
const webviews = existsSync(path.join(root, 'webview'))
  ? readdirSync(path.join(root, 'webview')).filter((name) => existsSync(path.join(root, 'webview', name, 'main.ts')))
  : [];
const browser = {
  ...common,
  entryPoints: Object.fromEntries(webviews.map((name) => [name, `webview/${name}/main.ts`])),
  outdir: 'dist/webview',
  platform: 'browser',
  format: 'iife',
  target: 'chrome120',
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [onlyFlowcharts],
};

const engineFolder = process.argv.includes('--engine') ? path.resolve(process.argv[process.argv.indexOf('--engine') + 1]) : undefined;
if (engineFolder !== undefined) {
  const entryPoints = {
    engine: 'webview/engine/main.ts',
    preview: 'webview/preview/main.ts',
    ...Object.fromEntries(['frame', 'file', 'document'].map((name) => [name, `webview/browser/${name}.ts`])),
  };
  const { metafile } = await esbuild.build({ ...browser, entryPoints, outdir: engineFolder, legalComments: 'none' });
  writeFileSync(path.join(engineFolder, 'LICENCES.txt'), licences(root, [metafile]));
  process.exit();
}

// The schemas that package.json associates with files for the extensions of YAML and TOML.
cpSync(path.join(root, '../schemas'), path.join(root, 'dist/schemas'), { recursive: true });

const builds = webviews.length > 0 ? [extension, browser] : [extension];
if (process.argv.includes('--watch')) {
  for (const options of builds) await (await esbuild.context(options)).watch();
} else {
  const built = await Promise.all(builds.map((options) => esbuild.build(options)));
  writeFileSync(path.join(root, 'dist/LICENCES.txt'), licences(root, built.map(({ metafile }) => metafile)));
}
