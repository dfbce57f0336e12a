// Tools from their server to their result: a quick fix pins them once the user has agreed to the whole definition, a run asks before it calls
// one, the panel shows the call, and the tree shows how each stands. A hostile definition is shown as text.
import { existsSync, readFileSync } from 'node:fs';
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';

/** A server of tools in the standard library: it sends mails to a file. */
const SERVER = `
import json, sys
from pathlib import Path
TEXT = {"type": "string"}
SEND = {"name": "send", "description": "Sends a mail.", "inputSchema": {"type": "object", "properties": {"to": TEXT, "body": TEXT}, "required": ["to", "body"]}}
COUNT = {"name": "count", "description": "Counts letters.", "inputSchema": {"type": "object", "properties": {"text": TEXT}, "required": ["text"]}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, given = request["method"], request.get("params") or {}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "mailer", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [SEND, COUNT]}
    elif method != "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
        continue
    else:
        with Path("mails").open("a") as file:
            file.write(json.dumps(given["arguments"]) + "\\n")
        result = {"content": [{"type": "text", "text": f"Sent to {given['arguments']['to']}."}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;
const FLOW = `---
workflow:
  tools: [mail.send]
---
flowchart LR
    PROBLEM([To]):::Interface
    SEND[["Tool<br/>(tool: mail.send, with: 'body: Hello.')"]]
    RETURN([Result]):::Interface
    PROBLEM -->|to| SEND --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const DRAWING = `flowchart LR
    A([Customer]) --> B[Send a mail that counts]
    B --> C([Reply])
`;
const SHOUT = `def shout(text: str) -> str:
    """Shout a text."""
    return text.upper()
`;
const LOCAL = FLOW.replaceAll('mail.send', 'local.shout').replace(", with: 'body: Hello.'", '').replace('-->|to|', '-->|text|');
/** Links, code and characters that turn the direction of writing: all of it must be text in a dialog. */
const HOSTILE = ['[Allow](command:workbench.action.closeWindow)', '`code`', '\u202egnp.exe', '<b>bold</b>'];

const propose = (w, ...more) => w.write('.mcp.json', JSON.stringify({ mcpServers: { mail: { command: 'python3', args: [w.file('server.py'), ...more] } } }));

describe('Tools', (workbench) => {
  const tree = async (w) => {
    const pane = w.page.locator('.part.sidebar .pane', { has: w.page.locator('.pane-header', { hasText: 'Merrow Tools' }) });
    const header = pane.locator('.pane-header');
    await header.waitFor();
    if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
    return pane.locator('.monaco-list-row');
  };
  const dialog = (w) => w.page.locator('.monaco-dialog-box');
  const fix = (w, line, column, title) =>
    w.again(async () => {
      await w.goTo(line, column);
      await w.page.keyboard.press('Control+.');
      const entry = w.page.locator('.action-widget .monaco-list-row', { hasText: title }).first();
      await entry.waitFor({ timeout: SOON });
      await entry.click({ timeout: SOON });
    }, `no action is offered that is called ${title}`);

  it('are pinned by a quick fix once the whole definition is agreed to', async () => {
    const w = workbench();
    w.write('server.py', SERVER);
    propose(w, ...HOSTILE);
    await w.open('tools.mmd', FLOW);
    await w.page.locator('.monaco-editor .squiggly-error').first().waitFor();
    const rows = await tree(w);
    await rows.filter({ hasText: 'not trusted' }).waitFor();
    await w.shot('tools-untrusted');
    await fix(w, 7, 35, 'Pin the tools of mail');
    await dialog(w).waitFor();
    const words = await dialog(w).innerText();
    await w.shot('tools-consent');
    for (const said of ['python3', 'server.py', '\\u005d(command:', '\\u0060code\\u0060', '\\u202e', '<b>bold</b>', 'It can do all that you can do']) assert.ok(words.includes(said), `${said} is not in ${words}`);
    assert.equal(await dialog(w).locator('a[href], .monaco-link').count(), 0);
    await dialog(w).getByRole('button', { name: 'Cancel' }).click();
    await dialog(w).waitFor({ state: 'hidden' });
    assert.deepEqual([w.page.isClosed(), existsSync(w.file('merrow.tools.json'))], [false, false]);
    propose(w);
    await fix(w, 7, 35, 'Pin the tools of mail');
    await dialog(w).getByRole('button', { name: 'Trust This Server' }).click();
    await w.notification('merrow.tools.json has 1 tool of mail.');
    await w.page.locator('.monaco-editor .squiggly-error').first().waitFor({ state: 'hidden' });
    await rows.filter({ hasText: 'asks before the first call' }).waitFor();
    await rows.filter({ hasText: 'not pinned' }).waitFor(); // the other tool, which is known by now
    await w.command('Notifications: Clear All Notifications');
    await w.shot('tools-tree');
    await rows.filter({ hasText: 'send' }).click();
    await w.page.locator('.tab.active', { hasText: 'merrow.tools.json' }).waitFor();
    await w.shot('tools-pin');
  });

  it('are called once the user allows it, and the panel shows the call', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('tools.mmd');
    await w.lens('Run');
    await w.commandAnswered('Merrow: Run Workflow', 'Run tools.mmd', 'ann@example.org');
    await dialog(w).waitFor();
    const words = await dialog(w).innerText();
    await w.shot('tools-allow');
    for (const said of ['mail.send', 'which can act for you', 'Sends a mail.', 'May the workflows of this folder call it?']) assert.ok(words.includes(said), `${said} is not in ${words}`);
    await dialog(w).getByRole('button', { name: 'Allow' }).click();
    await w.runEnded('tools.mmd');
    const preview = new Preview(w, await w.frame('body[data-engine] g[data-node="SEND"]'));
    await preview.click('SEND');
    const panel = await w.frame('main > header h1:has-text("SEND")');
    const shown = await panel.locator('main').innerText();
    for (const said of ['mail.send', 'ann@example.org', 'Hello.', 'Sent to ann@example.org.', 'may not be repeated']) assert.ok(shown.includes(said), `${said} is not in ${shown}`);
    await w.shot('tools-panel');
    const rows = await tree(w);
    await rows.filter({ hasText: 'allowed here' }).filter({ hasText: 'last used' }).waitFor();
    const mails = () => readFileSync(w.file('mails'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(mails(), [{ to: 'ann@example.org', body: 'Hello.' }]);
    // Another run of the same pin asks nothing.
    const before = await w.shownRun();
    await w.command('Merrow: Run Workflow');
    await w.runEnded('SEND', before); // The panel keeps to the node that is looked at.
    assert.deepEqual([await page.locator('.monaco-dialog-box').count(), mails().length], [0, 2]);
  });

  it('that are files run once their text was read in an editor', async () => {
    const w = workbench();
    const long = `${SHOUT}\n\n${'# Nothing.\n'.repeat(40)}`;
    w.write('tools/shout.py', long);
    await w.open('tools-local.mmd', LOCAL);
    await fix(w, 7, 35, 'Pin the tools of local');
    await w.notification('merrow.tools.json has 1 tool of local.');
    await w.lens('Run');
    await w.commandAnswered('Merrow: Run Workflow', 'Run tools-local.mmd', 'hello');
    await w.notification('Read all of it in the editor.');
    await w.page.locator('.tab.active', { hasText: 'What You Agree To' }).waitFor();
    await w.shot('tools-file');
    await w.answerNotification('Read all of it in the editor.', 'Trust This File');
    const panel = await w.runEnded('tools-local.mmd');
    assert.match(await panel.locator('main').innerText(), /HELLO/);
  });

  it('are bound to a step of a drawing', async () => {
    const w = workbench();
    await w.open('tools-drawn.mmd', DRAWING);
    await w.lens('Run');
    await w.commandAnswered('Merrow: Pin Tools', 'Pin the Tools of a Server', 'mail');
    await w.notification('merrow.tools.json has 2 tools of mail.');
    await fix(w, 2, 25, 'Bind to the tool mail.count');
    await w.until(async () => (await w.text()).includes('B@{ op: Tool, tool: "mail.count" }'), 'the step is not bound');
    await w.shot('tools-bound');
  });
}, { profile: 'tools' });
