// The extension as users install it. E2E_VSIX names one that is there; else it is packed from the sources.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { e2e, extension, node } from './places.mjs';

const out = path.join(extension, '.cache', 'e2e');
let packed;

/** The VSIX of the extension. */
export function merrow() {
  packed ??= process.env.E2E_VSIX ? path.resolve(process.env.E2E_VSIX) : pack();
  if (!existsSync(packed)) throw new Error(`There is no ${packed}.`);
  return packed;
}

function pack() {
  mkdirSync(out, { recursive: true });
  const file = path.join(out, 'merrow.vsix');
  run('npm', ['run', '--silent', 'package', '--', '--out', file], extension);
  return file;
}

/** The version that `older` has. */
export const OLDER = '0.0.1';

/** The same extension as a version before the first. */
export function older() {
  const file = path.join(out, 'older.vsix');
  mkdirSync(out, { recursive: true });
  const rewrite = `
import re, sys, zipfile
source, target, version = sys.argv[1:]
versions = {
    "extension/package.json": rb'(?m)^(  "version": ")[^"]+',
    "extension.vsixmanifest": rb'(<Identity [^>]*Version=")[^"]+',
}
with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist():
        data = old.read(name)
        if name in versions:
            data, changes = re.subn(versions[name], rb"\\g<1>" + version.encode(), data)
            assert changes == 1, name
        new.writestr(name, data)
`;
  run('python3', ['-I', '-c', rewrite, merrow(), file, OLDER], out);
  return file;
}

/** The VSIX of an extension that does nothing, to compare with. */
export function empty() {
  const folder = path.join(out, 'empty');
  const file = path.join(out, 'empty.vsix');
  mkdirSync(folder, { recursive: true });
  const manifest = {
    name: 'empty',
    publisher: 'merrow-tests',
    version: '0.0.0',
    description: 'Does nothing',
    license: 'MIT',
    repository: 'https://example.org/empty',
    engines: { vscode: '^1.91.0' },
    main: './main.js',
    activationEvents: ['onLanguage:mermaid'],
    contributes: {
      languages: [{ id: 'mermaid', extensions: ['.mmd'], configuration: './language.json' }],
    },
  };
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(path.join(folder, 'main.js'), 'exports.activate = () => undefined;\n');
  writeFileSync(path.join(folder, 'language.json'), '{}\n');
  writeFileSync(path.join(folder, 'README.md'), '# Empty\n');
  writeFileSync(path.join(folder, 'LICENSE'), 'MIT\n');
  run(node, [vsce(), 'package', '--no-dependencies', '--out', file], folder);
  return file;
}

function vsce() {
  return path.join(extension, 'node_modules', '@vscode', 'vsce', 'vsce');
}

function run(program, parameters, cwd) {
  try {
    execFileSync(program, parameters, { cwd, env: { ...process.env, PATH: `${path.dirname(node)}:${process.env.PATH}` }, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (failure) {
    throw new Error(`${program} ${parameters.join(' ')} failed in ${path.relative(e2e, cwd)}:\n${failure.stdout}\n${failure.stderr}`);
  }
}
