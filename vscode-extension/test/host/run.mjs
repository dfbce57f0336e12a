// Runs test/host/suite inside the extension host of a real workbench: node test/host/run.mjs
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { extension, missing } from '../e2e/support/places.mjs';
import { Server } from '../e2e/support/server.mjs';
import { empty, merrow } from '../e2e/support/vsix.mjs';
import { Workbench, closeBrowser } from '../e2e/support/workbench.mjs';

/** Milliseconds that all may take, however busy the machine is. */
const LIMIT = 900_000;
const why = missing();
if (why.length > 0) {
  console.log(`The extension-host tests can't run here. ${why.join(' ')}`);
  process.exit(process.env.E2E_REQUIRED ? 1 : 0);
}
const folder = mkdtempSync(path.join(os.tmpdir(), 'merrow-host-'));
const results = path.join(folder, 'results.json');
const server = await Server.start({ vsix: [merrow(), empty()], smoke: true, environment: { MERROW_HOST_RESULTS: results } });
const host = path.join(extension, 'test', 'host');
let workbench;
const code = await new Promise((resolve, reject) => {
  setTimeout(() => resolve('timeout'), LIMIT).unref();
  const payload = [
    ['extensionDevelopmentPath', server.uri(host)],
    ['extensionTestsPath', server.uri(path.join(host, 'index.cjs'))],
    ['skipWelcome', 'true'],
  ];
  const before = (page) => page.exposeFunction('codeAutomationLog', () => undefined).then(() => page.exposeFunction('codeAutomationExit', resolve));
  Workbench.open(server, { payload, before }).then((opened) => (workbench = opened), reject);
});
await workbench?.close();
await closeBrowser();
const log = server.log();
await server.stop();
let all = [];
try {
  all = JSON.parse(readFileSync(results, 'utf8'));
} catch {
  console.log(`No test ran.\n${log}`);
}
rmSync(folder, { recursive: true, force: true });
for (const { name, problem, milliseconds, figures } of all) {
  console.log(`${problem === undefined ? '✔' : '✖'} ${name} (${milliseconds} ms)`);
  if (problem !== undefined) console.log(problem.replace(/^/gm, '    '));
  for (const [what, value] of Object.entries(figures ?? {})) console.log(`    ${what}: ${value.toFixed(1)}`);
}
const failed = all.filter(({ problem }) => problem !== undefined).length;
console.log(`${all.length - failed} of ${all.length} tests inside the extension host passed.`);
process.exit(code === 0 && failed === 0 && all.length > 0 ? 0 : 1);
