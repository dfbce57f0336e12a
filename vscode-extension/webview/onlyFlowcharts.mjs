// Of mermaid, what draws flowcharts: an esbuild plugin. Its other kinds of diagrams, KaTeX and the ELK layout would make the
// extension several times as large.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const chunks = path.join(path.dirname(createRequire(import.meta.url).resolve('mermaid')), 'chunks', 'mermaid.core');

/** The one file of mermaid's chunks whose name begins so. */
function chunk(name) {
  const found = readdirSync(chunks).filter((file) => file.startsWith(`${name}-`) && file.endsWith('.mjs'));
  if (found.length !== 1) throw new Error(`mermaid has ${found.length} chunks ${name}; webview/onlyFlowcharts.mjs must be brought up to date.`);
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
    build.onLoad({ filter: /./, namespace: 'left-out' }, (asked) => ({
      contents: `throw new Error(${JSON.stringify(`${path.basename(asked.path)} is not part of this extension.`)});`,
    }));
  },
};
