// Fenced blocks in Markdown are as good as files.
import { Preview, assert, describe, it } from '../../support/harness.mjs';

const TEXT = `# Two workflows

\`\`\`mermaid
flowchart LR
    PROBLEM([Problem]):::Interface -->|input| A["Custom<br/>(role: solver)"]:::CustumOp --> RETURN([Return]):::Interface
\`\`\`

And another one:

\`\`\`mermaid
flowchart LR
    X --> Y
\`\`\`
`;

describe('Markdown', (workbench) => {
  it('checks fences, and previews the one where the cursor is', async () => {
    const w = workbench();
    await w.open('notes.md', TEXT);
    await w.page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await w.goTo(5, 6);
    const preview = await Preview.open(w);
    await preview.shows('PROBLEM', 'A', 'RETURN');
    assert.equal(await preview.frame.locator('.which').innerText(), 'Diagram 1 of 2');
    await w.goTo(12, 6);
    await preview.shows('X', 'Y');
    assert.equal(await preview.frame.locator('.which').innerText(), 'Diagram 2 of 2');
    await preview.node('Y').click();
    await w.shot('markdown');
    await w.until(async () => (await w.cursor()).startsWith('Ln 12, Col 12 (1 selected)'), 'the click does not go to the text');
  });

  it('does not start a server for Markdown without a diagram', async () => {
    const w = workbench();
    await w.open('plain.md', '# Nothing to draw\n');
    assert.equal(await w.page.locator('.editor-actions a[aria-label^="Open Preview to the Side"][aria-label*="Merrow"]').count(), 0);
  });
}, { shared: true });
