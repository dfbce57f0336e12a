// A server that dies comes back, with the documents it had.
import { Preview, assert, describe, it } from '../../support/harness.mjs';

describe('Recovery', (workbench) => {
  it('a killed server is started again, and the preview goes on', async () => {
    const w = workbench();
    const { page, server } = w;
    await w.open('killed.mmd', 'flowchart LR\n    PROBLEM([P]):::Interface --> RETURN([R]):::Interface\n');
    const preview = await Preview.open(w);
    // Those of other windows, too: which one is whose is not to be seen.
    const before = await w.until(() => server.processes('start_server.py').length > 0 && server.processes('start_server.py'), 'no server');
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await w.until(() => server.processes('start_server.py').some((pid) => !before.includes(pid)), 'the server does not come back');
    await w.insert(3, 1, 'PROBLEM --> X:::NonesuchOp', 'PROBLEM --> X:::NonesuchOp');
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await preview.shows('PROBLEM', 'RETURN', 'X');
    assert.equal(await w.toasts().filter({ hasText: 'failed' }).count(), 0);
  });
}, { shared: true });
