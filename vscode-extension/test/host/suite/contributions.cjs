const assert = require('node:assert/strict');
const vscode = require('vscode');

const manifest = () => vscode.extensions.getExtension('merrow.merrow').packageJSON;

test('every command that is contributed is there', async () => {
  const known = new Set(await vscode.commands.getCommands(true));
  const missing = manifest().contributes.commands.map(({ command }) => command).filter((command) => !known.has(command));
  assert.deepEqual(missing, []);
});

test('every menu and key names a contributed command', async () => {
  const { commands, menus, keybindings } = manifest().contributes;
  const known = new Set(commands.map(({ command }) => command));
  const used = [...Object.values(menus).flat(), ...(keybindings ?? [])].map(({ command }) => command).filter(Boolean);
  assert.deepEqual(used.filter((command) => !known.has(command)), []);
});

test('every setting has its default', async () => {
  const { properties } = manifest().contributes.configuration;
  for (const [name, { default: wanted }] of Object.entries(properties)) {
    assert.deepEqual(vscode.workspace.getConfiguration().inspect(name)?.defaultValue, wanted, name);
  }
});

test('what a workspace may not set until it is trusted is declared', async () => {
  const { supported, restrictedConfigurations } = manifest().capabilities.untrustedWorkspaces;
  assert.ok(supported === true || supported === 'limited');
  const { properties } = manifest().contributes.configuration;
  assert.ok(restrictedConfigurations.includes('merrow.python'));
  assert.ok(restrictedConfigurations.includes('merrow.endpoint'));
  for (const name of restrictedConfigurations) assert.ok(name in properties, name);
});

test('no setting holds a key', async () => {
  const { properties } = manifest().contributes.configuration;
  assert.deepEqual(Object.keys(properties).filter((name) => /key|secret|token/i.test(name)), []);
});
