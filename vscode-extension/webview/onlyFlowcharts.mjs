// Of mermaid, what draws flowcharts: an esbuild plugin. Its other kinds of diagrams, KaTeX and the ELK layout would make the
// extension several times as large.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const chunks = path.join(path.dirname(createRequire(import.meta.url).resolve('mermaid')), 'chunks', 'mermaid.core');

/** The one file of mermaid's chunks whose name begins so. */
function chunk(name) {
  const found = readdirSync(chunks).filter((file) => file.startsWith(`${name}-`) && file.endsWith('.mjs'));
  if (found.length !== 1) throw new Error(`mermaid has ${found.length} chunks ${name}; webview/onlyFlowcharts.mjs must be brought up to date.`);
  return path.join(chunks, found[0]);
}

/**
 * Mermaid copies its whole configuration, some thousand values, whenever a part of it asks for one: more than half of the time of a
 * drawing. What is set replaces `currentConfig`, so one copy serves until then.
 */
const COPIES = 'return assignWithDepth_default({}, currentConfig);';
const ONE_COPY = 'return getConfig.of === currentConfig ? getConfig.copy : (getConfig.of = currentConfig, getConfig.copy = assignWithDepth_default({}, currentConfig));';

function withOneCopy(file) {
  const text = readFileSync(file, 'utf8');
  if (text.split(COPIES).length !== 2) throw new Error('mermaid copies its configuration elsewhere; webview/onlyFlowcharts.mjs must be brought up to date.');
  return text.replace(COPIES, ONE_COPY);
}

/** The file of mermaid's chunks that holds the configuration. */
function configurationChunk() {
  const found = readdirSync(chunks).filter((file) => file.endsWith('.mjs') && readFileSync(path.join(chunks, file), 'utf8').includes(COPIES));
  if (found.length !== 1) throw new Error(`mermaid has ${found.length} chunks with its configuration; webview/onlyFlowcharts.mjs must be brought up to date.`);
  return path.join(chunks, found[0]);
}

export const onlyFlowcharts = {
  name: 'only-flowcharts',
  setup(build) {
    const wanted = new Set([chunk('flowDiagram'), chunk('dagre')]);
    // The layout as a module of its own: the engine wraps it.
    build.onResolve({ filter: /^merrow:dagre$/ }, () => ({ path: chunk('dagre') }));
    build.onResolve({ filter: /./ }, (asked) => {
      if (asked.kind !== 'dynamic-import' || !asked.importer.includes('mermaid')) return undefined;
      const file = path.resolve(asked.resolveDir, asked.path);
      return wanted.has(file) ? undefined : { path: asked.path, namespace: 'left-out' };
    });
    const configuration = configurationChunk();
    build.onLoad({ filter: /\.mjs$/ }, ({ path: file }) => (file === configuration ? { contents: withOneCopy(file), loader: 'js' } : undefined));
    build.onLoad({ filter: /./, namespace: 'left-out' }, (asked) => ({
      contents: `throw new Error(${JSON.stringify(`${path.basename(asked.path)} is not part of this extension.`)});`,
    }));
  },
};
