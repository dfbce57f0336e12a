const assert = require('node:assert/strict');
const vscode = require('vscode');

const api = () => vscode.extensions.getExtension('merrow.merrow').exports;

/** The first event for which `right` holds. */
function once(event, right) {
  return new Promise((resolve) => {
    const listening = event((given) => {
      if (!right(given)) return;
      listening.dispose();
      resolve(given);
    });
  });
}

/** Open a text and wait until its diagnostics are as `right` says. */
async function diagnosed(document, right) {
  const found = () => vscode.languages.getDiagnostics(document.uri);
  if (!right(found())) await once(vscode.languages.onDidChangeDiagnostics, () => right(found()));
  return found();
}

const BROKEN = 'flowchart LR\n  PROBLEM([P]):::Interface --> A["Custom<br/>"]:::CustumOp --> RETURN([R]):::Interface\n';

test('a document of the language starts the server, which finds what is wrong', async () => {
  const document = await vscode.workspace.openTextDocument({ language: 'mermaid', content: BROKEN });
  await vscode.window.showTextDocument(document);
  const found = await diagnosed(document, (all) => all.some(({ source }) => source === 'merrow'));
  assert.ok(found.some(({ message }) => message.includes('CustumOp')));
  assert.ok(api().client());
});

test('an edit is checked again', async () => {
  const document = vscode.window.activeTextEditor.document;
  const edit = new vscode.WorkspaceEdit();
  const at = document.getText().indexOf('CustumOp');
  edit.replace(document.uri, new vscode.Range(document.positionAt(at), document.positionAt(at + 8)), 'CustomOp');
  await vscode.workspace.applyEdit(edit);
  await diagnosed(document, (all) => all.every(({ message }) => !message.includes('CustumOp')));
});

test('merrow/graph answers about the open document', async () => {
  const client = await api().readyClient();
  const uri = client.code2ProtocolConverter.asUri(vscode.window.activeTextEditor.document.uri);
  const graph = await client.sendRequest('merrow/graph', { textDocument: { uri } });
  assert.deepEqual(graph.nodes.map(({ id }) => id), ['PROBLEM', 'A', 'RETURN']);
});

test('a restart gives another client that knows the open documents', async () => {
  const before = await api().readyClient();
  const changed = once(api().onDidChangeClient, (client) => client !== undefined && client !== before);
  await vscode.commands.executeCommand('merrow.restartServer');
  const client = await changed;
  const uri = client.code2ProtocolConverter.asUri(vscode.window.activeTextEditor.document.uri);
  const graph = await client.sendRequest('merrow/graph', { textDocument: { uri } });
  assert.equal(graph.nodes.length, 3);
});

test('restarts that come together are one', async () => {
  let changes = 0;
  const counting = api().onDidChangeClient((client) => {
    if (client !== undefined) changes += 1;
  });
  await Promise.all([1, 2, 3].map(() => vscode.commands.executeCommand('merrow.restartServer')));
  await api().readyClient();
  counting.dispose();
  assert.ok(changes >= 1 && changes <= 2, `${changes} clients were made`);
});

test('a setting of another extension restarts nothing', async () => {
  const before = await api().readyClient();
  await vscode.workspace.getConfiguration('editor').update('tabSize', 3, vscode.ConfigurationTarget.Global);
  await vscode.workspace.getConfiguration('editor').update('tabSize', undefined, vscode.ConfigurationTarget.Global);
  assert.equal(await api().readyClient(), before);
});
