// One code-server with a bare profile of its own, in which the extension's VSIX is installed.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { codeServer, node } from './places.mjs';

/** What would only be in the way of a test; everything else is as VS Code comes. */
const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.enableExperiments': false,
  'workbench.editor.useModal': 'off',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'chat.disableAIFeatures': true,
  'git.enabled': false,
  'remote.autoForwardPorts': false,
  'files.autoSave': 'off',
  'files.hotExit': 'off',
  'files.simpleDialog.enable': true,
  'editor.accessibilitySupport': 'off',
  'editor.minimap.enabled': false,
  'editor.cursorBlinking': 'solid',
};
const STARTS_WITHIN = 60_000;

export class Server {
  /** Install an extension, or another version of one, as `code --install-extension` does; windows have it once they are loaded again. */
  install;

  /**
   * Start one. `vsix`: extensions to install; `settings`: of the user; `machine`: settings of scope machine, which count only from a
   * file of their own, as on any remote; `trust`: whether workspaces must be trusted first; `environment`: more for the process;
   * `models` and `tools`: folders with the packages that reach endpoints and servers of tools, as the extension sets them up; `pathOf`: the names of the only programs on its PATH; `smoke`: lets the page's address name an extension under development and its tests.
   */
  static async start({ models, tools, vsix = [], settings = {}, machine = {}, trust = false, environment = {}, pathOf, smoke = false } = {}) {
    const server = new Server();
    const root = (server.root = mkdtempSync(path.join(os.tmpdir(), 'merrow-e2e-')));
    const folder = (name) => {
      const made = path.join(root, name);
      mkdirSync(made, { recursive: true });
      return made;
    };
    server.workspace = folder('workspace');
    server.data = folder('data');
    folder('data/User');
    folder('data/Machine');
    writeFileSync(path.join(server.data, 'User', 'settings.json'), JSON.stringify({ ...QUIET, ...settings }, null, 2));
    writeFileSync(path.join(server.data, 'Machine', 'settings.json'), JSON.stringify(machine, null, 2));
    for (const [name, packages] of Object.entries({ models, tools })) {
      if (packages !== undefined) symlinkSync(packages, path.join(folder('data/User/globalStorage/merrow.merrow'), name));
    }
    const config = path.join(root, 'config.yaml');
    writeFileSync(config, 'auth: none\ncert: false\n');
    const own = {
      HOME: folder('home'),
      XDG_CONFIG_HOME: folder('home/.config'),
      XDG_DATA_HOME: folder('home/.local/share'),
      XDG_CACHE_HOME: folder('home/.cache'),
      TMPDIR: folder('tmp'),
      // The environment is the one given here, not what a login shell would make of it.
      VSCODE_CLI: '1',
    };
    const env = { ...process.env, ...own, ...(pathOf === undefined ? {} : { PATH: programs(folder('bin'), pathOf) }), ...environment };
    for (const name of ['XDG_RUNTIME_DIR', 'VSCODE_IPC_HOOK_CLI', 'PASSWORD', 'PORT']) delete env[name];
    for (const name of Object.keys(env)) if (/^(?:OPENAI|MERROW)_/.test(name) && !(name in environment)) delete env[name];
    const extensions = folder('extensions');
    const common = [codeServer, '--config', config, '--user-data-dir', server.data, '--extensions-dir', extensions];
    server.install = (file) => execFileSync(node, [...common, '--install-extension', file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    installAll(server, extensions, vsix);
    const port = await freePort();
    const log = openSync(path.join(root, 'code-server.log'), 'w');
    const flags = ['--reconnection-grace-time', '20', '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override', '--disable-proxy', '--ignore-last-opened'];
    if (!trust) flags.push('--disable-workspace-trust');
    if (smoke) flags.push('--vscode-option', 'enable-smoke-test-driver');
    server.process = spawn(node, [...common, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, ...flags], {
      env,
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    // However this process ends, it leaves none behind.
    const end = () => signal(server.process.pid, 'SIGKILL');
    process.once('exit', end);
    server.process.once('exit', () => process.off('exit', end));
    server.url = `http://127.0.0.1:${port}`;
    server.authority = `127.0.0.1:${port}`;
    await server.#healthy();
    return server;
  }

  async #healthy() {
    const until = Date.now() + STARTS_WITHIN;
    for (;;) {
      const well = await fetch(`${this.url}/healthz`).then((answer) => answer.ok, () => false);
      if (well) return;
      if (Date.now() > until || this.process.exitCode !== null) {
        throw new Error(`code-server did not start:\n${readFileSync(path.join(this.root, 'code-server.log'), 'utf8')}`);
      }
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  /** The address of a page with a folder open, and what the workbench's own channel shall open. */
  address(payload = [], folder = this.workspace) {
    const query = new URLSearchParams({ folder });
    if (payload.length > 0) query.set('payload', JSON.stringify(payload));
    return `${this.url}/?${query}`;
  }

  /** The address of a file in the remote's own form. */
  uri(file) {
    return `vscode-remote://${this.authority}${file}`;
  }

  /** The processes below this server whose command line holds `word`. */
  processes(word) {
    return descendants(this.process.pid).filter((pid) => commandLine(pid).includes(word));
  }

  /** Resident memory in MiB of the processes below this server whose command line holds `word`. */
  memory(word) {
    return this.processes(word).reduce((sum, pid) => sum + resident(pid), 0);
  }

  /** What the extension wrote to its log. */
  log(channel = 'Merrow') {
    const found = readdirSync(path.join(this.data, 'logs'), { recursive: true }).filter((name) => name.endsWith(`${channel}.log`));
    return found.map((name) => readFileSync(path.join(this.data, 'logs', name), 'utf8')).join('\n');
  }

  async stop({ keep = false } = {}) {
    const gone = () => this.process.exitCode !== null || this.process.signalCode !== null;
    signal(this.process.pid, 'SIGTERM');
    for (let waited = 0; waited < 5000 && !gone(); waited += 50) await new Promise((done) => setTimeout(done, 50));
    signal(this.process.pid, 'SIGKILL');
    if (!keep) rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Folders with what was installed, by the VSIX files: an installation takes as long as a suite, so other servers get a copy. */
const installations = new Map();
process.once('exit', () => {
  for (const kept of installations.values()) rmSync(kept, { recursive: true, force: true });
});

function installAll(server, extensions, vsix) {
  if (vsix.length === 0) return;
  const kept = installations.get(vsix.join());
  if (kept !== undefined) {
    copied(kept, extensions);
    return;
  }
  for (const file of vsix) server.install(file);
  const copy = mkdtempSync(path.join(os.tmpdir(), 'merrow-e2e-extensions-'));
  copied(extensions, copy);
  installations.set(vsix.join(), copy);
}

function copied(from, to) {
  cpSync(from, to, { recursive: true });
  const list = path.join(to, 'extensions.json'); // Has the whole paths of the extensions.
  writeFileSync(list, readFileSync(list, 'utf8').replaceAll(from, to));
}

/** A folder for a PATH, with these programs and no others. */
function programs(folder, names) {
  for (const name of names) symlinkSync(`/usr/bin/${name}`, path.join(folder, name));
  return folder;
}

function signal(group, name) {
  try {
    process.kill(-group, name);
  } catch {
    // It is gone already.
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function descendants(root) {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(read(`/proc/${name}/stat`))?.[1];
    if (parent !== undefined) children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)]);
  }
  const found = [];
  for (const queue = [root]; queue.length > 0; ) {
    const pid = queue.pop();
    found.push(pid);
    queue.push(...(children.get(pid) ?? []));
  }
  return found;
}

function commandLine(pid) {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function resident(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
