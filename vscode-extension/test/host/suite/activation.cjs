// First of all files: nothing has activated the extension yet.
const assert = require('node:assert/strict');
const vscode = require('vscode');

/** Milliseconds that an extension takes from being asked to being active. */
async function activation(id) {
  const extension = vscode.extensions.getExtension(id);
  assert.ok(extension, `${id} is not installed`);
  assert.equal(extension.isActive, false, `${id} is active already`);
  const began = performance.now();
  await extension.activate();
  return performance.now() - began;
}

test('activates, and does not wait for its server', async () => {
  const [empty, merrow] = [await activation('merrow-tests.empty'), await activation('merrow.merrow')];
  globalThis.figures = { 'activation, empty extension (ms)': empty, 'activation (ms)': merrow, 'activation, ratio': merrow / empty };
});
