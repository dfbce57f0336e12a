// What reaches servers of tools is set up where it is needed: the dialog says what is installed, a failure says why and can be tried again,
// and what was asked for goes on by itself.
import { existsSync } from 'node:fs';
import { SOON, assert, describe, it } from '../../support/harness.mjs';
import { offerTools } from '../../support/endpoint.mjs';

/** A server of tools in the standard library, which is only asked what it has. */
const SERVER = `
import json, sys
SEND = {"name": "send", "description": "Sends a mail.", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}
INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "mailer", "version": "1"}}
RESULTS = {"initialize": INFO, "tools/list": {"tools": [SEND]}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    known = RESULTS.get(request["method"])
    answer = {"error": {"code": -32601, "message": "no such method"}} if known is None else {"result": known}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
`;
const FLOW = `---
workflow:
  tools: [mail.send]
---
flowchart LR
    PROBLEM([To]):::Interface
    SEND[["Tool<br/>(tool: mail.send)"]]
    RETURN([Result]):::Interface
    PROBLEM -->|to| SEND --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const dialog = (w) => w.page.locator('.monaco-dialog-box');
const pin = (w) =>
  w.again(async () => {
    await w.goTo(7, 35);
    await w.page.keyboard.press('Control+.');
    const entry = w.page.locator('.action-widget .monaco-list-row', { hasText: 'Pin the tools of mail' }).first();
    await entry.waitFor({ timeout: SOON });
    await entry.click({ timeout: SOON });
  }, 'the tools can not be pinned');

describe('Setting up tools', (workbench) => {
  it('is offered where a server is needed, says what it installs, and goes on by itself', async () => {
    const w = workbench();
    const { page } = w;
    w.write('server.py', SERVER);
    w.write('.mcp.json', JSON.stringify({ mcpServers: { mail: { command: 'python3', args: [w.file('server.py')] } } }));
    await w.open('set-up.mmd', FLOW);
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    const offered = dialog(w).filter({ hasText: 'Set up tools?' });
    for (const [theme, name] of [['Dark Modern', 'dark'], ['Dark High Contrast', 'high-contrast'], ['Light Modern', 'light']]) {
      await w.command('Preferences: Color Theme');
      await w.answer(theme);
      await pin(w);
      // It is the workspace's: first the user agrees to all of it.
      const consent = dialog(w).getByRole('button', { name: 'Trust This Server' });
      await consent.or(offered).first().waitFor();
      if (await consent.isVisible()) await consent.click();
      await offered.waitFor();
      await w.shot(`set-up-tools-${name}`);
      assert.match(await offered.innerText(), /installs mcp==.*about 45 MB.*Nothing else on this machine changes\. Workflows without tools work without it\./s);
      await offered.getByRole('button', { name: 'Cancel' }).click();
      await dialog(w).waitFor({ state: 'hidden' });
    }
    assert.equal(existsSync(w.file('merrow.tools.json')), false);
    // There is no index yet: the reason is said, and trying again helps once there is one.
    await pin(w);
    await offered.getByRole('button', { name: 'Install', exact: true }).click();
    const failed = await w.notification('Tools were not set up.');
    await w.shot('set-up-tools-failed');
    assert.match(await failed.innerText(), /Tools were not set up\. \S.*\./s);
    offerTools();
    await w.answerNotification('Tools were not set up.', 'Try Again');
    await w.notification('merrow.tools.json has 1 tool of mail.');
    await w.notification('Tools are set up.');
    await w.shot('set-up-tools-done');
    await w.command('Notifications: Clear All Notifications');
    await w.command('Merrow: Set Up Tools');
    await w.notification('Tools are set up already.');
  });

  it('is taken back, and nothing is left', async () => {
    const w = workbench();
    await w.command('Merrow: Remove Model Access and Tools');
    await w.notification('The packages for model endpoints and tools are removed.');
    await w.command('Notifications: Clear All Notifications');
    await w.command('Merrow: Set Up Tools');
    const offered = dialog(w).filter({ hasText: 'Set up tools?' });
    await offered.getByRole('button', { name: 'Install', exact: true }).click();
    await w.notification('Tools are set up.');
  });
}, { profile: 'withoutTools' });
