// Settings files are read again when they change, whatever they are called.
import { describe, it } from '../../support/harness.mjs';

/** A class that is not defined, MW114. */
const BROKEN = 'flowchart TD\n    PROBLEM([Problem]):::Interface --> A["Custom"]:::CustomOp --> RETURN([Return]):::Interface\n    classDef Interface fill:#e2e2f2\n';

describe('Settings files', (workbench) => {
  it('one that the setting names counts as soon as it is written, changed and removed', async () => {
    const w = workbench();
    const { page } = w;
    w.write('.vscode/settings.json', '{ "merrow.configuration": "strict.toml" }\n');
    const marks = page.locator('.editor-group-container.active').locator('.squiggly-error, .squiggly-warning');
    await w.open('broken.mmd', BROKEN);
    await marks.first().waitFor();
    w.write('strict.toml', 'ignore = ["MW114"]\n');
    await w.until(async () => (await marks.count()) === 0, 'the settings file that came is not read');
    await w.shot('settings-file');
    w.write('strict.toml', '');
    await w.until(async () => (await marks.count()) > 0, 'the settings file that changed is not read');
    w.write('strict.toml', 'ignore = ["MW114"]\n');
    await w.until(async () => (await marks.count()) === 0, 'the settings file is not read again');
    w.remove('strict.toml');
    await w.until(async () => (await marks.count()) > 0, 'the settings file that went still counts');
  });
});
