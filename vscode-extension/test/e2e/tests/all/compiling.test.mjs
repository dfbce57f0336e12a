// A workflow as a Python program: opened beside it, kept up to date while it is open, each node's line found from the other side.
import { assert, describe, it } from '../../support/harness.mjs';

const FLOW = `flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE@{ op: Custom, prompt: "Solve the problem." }
    CHECK@{ op: Custom, prompt: "Check the solution." }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SOLVE
    SOLVE -->|input| CHECK
    CHECK --> RETURN
    classDef Interface fill:#e2e2f2
`;

describe('Compile to Python', (workbench) => {
  it('opens the program beside the workflow, follows the cursor both ways and stays up to date', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('compiled.mmd', FLOW);
    await w.lens();
    await w.command('Merrow: Compile to Python');
    await page.locator('.tab', { hasText: 'compiled.py' }).waitFor();
    const beside = page.locator('.editor-group-container').nth(1).locator('.view-lines');
    const says = (words) => w.until(async () => (await beside.innerText()).replaceAll('\u00a0', ' ').includes(words), `no ${words} beside`);
    await says('Made by `merrow compile`');

    await w.goTo(2);
    await page.keyboard.press('ArrowDown');
    await says('solve = flow("SOLVE", input=[problem])');
    await w.shot('compile');

    await beside.locator('.view-line', { hasText: 'check' }).filter({ hasText: 'flow(' }).click();
    await page.keyboard.press('Control+1');
    await w.until(async () => (await w.cursor()).startsWith('Ln 4,'), 'the workflow does not show the node');

    w.write('compiled.mmd', FLOW.replaceAll('CHECK', 'REVIEW'));
    await says('review = flow("REVIEW", input=[solve])');
    w.write('compiled.mmd', FLOW.replace('--> RETURN', '--> NOWHERE'));
    await says('review = flow("REVIEW", input=[solve])');
    await w.closeEditors();
  });
}, { shared: true });
