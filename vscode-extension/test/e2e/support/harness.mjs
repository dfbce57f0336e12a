// What test files use: `describe(...)` with workbenches that all files share, one server a profile.
import { after, afterEach, before, beforeEach, describe as suite, it } from 'node:test';
import { freshEndpoint, withEndpoint, withListing, withTools, withoutPackages, withoutTools } from './endpoint.mjs';
import { missing } from './places.mjs';
import { Server } from './server.mjs';
import { empty, merrow, older } from './vsix.mjs';
import { Workbench, closeBrowser } from './workbench.mjs';

export { it };
export { default as assert } from 'node:assert/strict';
export { PREVIEW, Preview } from './preview.mjs';
export { PATIENCE, SOON } from './workbench.mjs';

/** How a server is started, by name. Each is started once, when a file first needs it. */
export const PROFILES = {
  /** As for most users who opened a folder of their own. */
  trusted: {},
  /** Workspaces must be trusted first, and this one is not: Restricted Mode. */
  restricted: { trust: true },
  /** No Python on the PATH. */
  withoutPython: { pathOf: ['sh', 'bash', 'env', 'ps', 'cat', 'sed', 'which', 'uname', 'ls'] },
  /** With a model endpoint on this machine, and what reaches it. */
  endpoint: () => withEndpoint(),
  /** With what reaches servers of tools. */
  tools: () => withTools(),
  /** With nothing that reaches servers of tools, and an index that comes later. */
  withoutTools: () => withoutTools(),
  /** Runs go to an endpoint that lists its models. */
  listing: () => withListing(),
  /** As on the first day: a workspace that is not trusted yet, a model endpoint, and nothing that reaches it. */
  firstDay: async () => ({ trust: true, ...(await withoutPackages()) }),
  /** With an endpoint, and a version of the extension that another is installed over. */
  upgraded: async () => ({ ...(await withEndpoint()), vsix: () => [older()] }),
  /** For measurements: the extension alone, and one that does nothing. */
  measured: {},
  empty: { vsix: () => [empty()] },
};

const servers = new Map();

async function started(profile) {
  const { vsix = () => [merrow()], ...options } = typeof profile === 'function' ? await profile() : profile;
  return Server.start({ ...options, vsix: vsix() });
}

/** The server of a profile. */
export function server(profile) {
  if (!servers.has(profile)) {
    servers.set(profile, started(PROFILES[profile]));
  }
  return servers.get(profile);
}

/** The windows that suites share, by profile, while none of their tests has failed. */
const sharedWindows = new Map();

/**
 * A suite in one window of a profile's server. `body` is called with a function that gives the workbench, for use inside tests. A
 * failing test leaves `shots/failed-....png`. `shared`: in the window that such suites of the profile share, since a window of its own
 * takes longer to open, and to do a thing for the first time, than most suites take; for suites that don't mind what runs, panels and
 * views others left behind. `options` are those of `Workbench.open`.
 */
export function describe(title, body, { profile = 'trusted', shared = false, ...options } = {}) {
  const why = missing();
  suite(title, { skip: why.length > 0 ? why.join(' ') : false }, () => {
    let workbench;
    let failed = false;
    before(async () => {
      await freshEndpoint();
      if (!shared) {
        workbench = await Workbench.open(await server(profile), options);
        return;
      }
      workbench = sharedWindows.get(profile) ?? (await Workbench.open(await server(profile)));
      sharedWindows.set(profile, workbench);
      if (await workbench.page.locator('.part.panel').isVisible()) await workbench.command('View: Hide Panel');
    });
    beforeEach(() => workbench.closeEditors());
    afterEach(async (context) => {
      if (process.env.E2E_CONSOLE) console.log(workbench.console.join('\n'));
      if (!context.error) return;
      failed = true;
      await workbench.shot(`failed-${context.name.replace(/\W+/g, '-').slice(0, 60)}`).catch(() => undefined);
    });
    after(async () => {
      if (shared && !failed) return;
      if (shared) sharedWindows.delete(profile);
      await workbench?.close();
    });
    body(() => workbench);
  });
}

/** End the server of a profile before the end of the run. */
export async function finished(profile) {
  const started = servers.get(profile);
  servers.delete(profile);
  await (await started)?.stop();
}

for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => process.exit(1));

after(async () => {
  await closeBrowser();
  for (const started of servers.values()) await started.then((one) => one.stop({ keep: Boolean(process.env.E2E_KEEP) })).catch(() => undefined);
});
