// The licences of the npm packages that a bundle holds, from esbuild's account of what went into it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** One text with every package's name, version and licence. Throws where a bundled package has none. */
export function licences(root, metafiles) {
  const folders = new Set();
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
        const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
        if (found !== null && bytesInOutput > 0) folders.add(path.join(root, found[1]));
      }
    }
  }
  return [...folders].sort().map((folder) => licence(folder)).join(`\n${'-'.repeat(80)}\n\n`);
}

function licence(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry) && existsSync(path.join(folder, entry)));
  if (file === undefined && typeof license !== 'string') throw new Error(`${name} is bundled and has no licence.`);
  const text = file === undefined ? `Licence: ${license}` : readFileSync(path.join(folder, file), 'utf8').trim();
  return `${name} ${version}\n\n${text}\n`;
}
