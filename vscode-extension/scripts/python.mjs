// The Python that the build scripts are run by, and the bundle of the server's parts.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Bring python/ up to date; at once where nothing changed. */
export function bundlePython() {
  const own = path.join(root, '../.venv/bin/python');
  execFileSync(existsSync(own) ? own : 'python3', ['scripts/bundle_python.py'], { cwd: root, stdio: 'inherit' });
}
