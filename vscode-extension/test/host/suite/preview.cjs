const assert = require('node:assert/strict');
const { mkdtempSync, readFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const vscode = require('vscode');

const previews = () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ input }) => input?.viewType?.endsWith('merrow.preview'));

/** Until there are so many previews; tabs are told of a little later than they are there. */
async function until(count) {
  while (previews().length !== count) {
    await new Promise((resolve) => {
      const listening = vscode.window.tabGroups.onDidChangeTabs(() => {
        listening.dispose();
        resolve();
      });
    });
  }
}

test('a document has one preview, however often it is asked for', async () => {
  const document = await vscode.workspace.openTextDocument({ language: 'mermaid', content: 'flowchart LR\n  A --> B\n' });
  await vscode.window.showTextDocument(document);
  await vscode.commands.executeCommand('merrow.showPreview', document.uri);
  await until(1);
  await vscode.commands.executeCommand('merrow.showPreview', document.uri);
  assert.equal(previews().length, 1);
  assert.match(previews()[0].label, /^Preview /);
});

test('the picture is exported without a question where the place is given', async () => {
  const document = vscode.window.activeTextEditor.document;
  const target = vscode.Uri.file(path.join(mkdtempSync(path.join(os.tmpdir(), 'merrow-')), 'picture.svg'));
  const written = await vscode.commands.executeCommand('merrow.exportSvg', document.uri, target);
  assert.equal(written?.toString(), target.toString());
  assert.match(readFileSync(target.fsPath, 'utf8'), /^<\?xml.*<svg/s);
});

test('closing the tab closes the preview', async () => {
  await vscode.window.tabGroups.close(previews());
  await until(0);
});
