// Settings files are read again when they change, whatever they are called.
import { assert, describe, it } from '../../support/harness.mjs';

const BROKEN = 'flowchart TD\n    PROBLEM([Problem]):::Interface --> A["Custom"]:::CustomOp --> RETURN([Return]):::Interface\n    classDef Interface fill:#e2e2f2\n';

describe('Settings files', (workbench) => {
  it('one that the setting names counts as soon as it is written, changed and removed', async () => {
    const w = workbench();
    const { page } = w;
    w.write('.vscode/settings.json', '{ "merrow.configuration": "strict.toml" }\n');
    const marks = page.locator('.editor-group-container.active').locator('.squiggly-error, .squiggly-warning');
    await w.open('broken.mmd', BROKEN);
    await marks.first().waitFor();
    const codes = [...new Set((await problems(w)).match(/MW\d+/g))];
    assert.ok(codes.length > 0);
    w.write('strict.toml', `ignore = ${JSON.stringify(codes)}\n`);
    await w.until(async () => (await marks.count()) === 0, 'the settings file that came is not read');
    await w.shot('settings-file');
    w.write('strict.toml', '');
    await w.until(async () => (await marks.count()) > 0, 'the settings file that changed is not read');
    w.write('strict.toml', `ignore = ${JSON.stringify(codes)}\n`);
    await w.until(async () => (await marks.count()) === 0, 'the settings file is not read again');
    w.remove('strict.toml');
    await w.until(async () => (await marks.count()) > 0, 'the settings file that went still counts');
  });
});

/** What the panel of problems says. */
async function problems(w) {
  await w.command('View: Toggle Problems');
  const rows = w.page.locator('.markers-panel .monaco-list-row');
  await rows.first().waitFor();
  return (await rows.allInnerTexts()).join('\n');
}
