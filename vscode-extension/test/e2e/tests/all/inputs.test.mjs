// Named sets of inputs in a file beside the workflow: edited, completed, run from, chosen when running.
import { SOON, assert, describe, it } from '../../support/harness.mjs';

const FLOW = `---
workflow:
  inputs: [LETTER, POLICY]
  prompts: {draft: Write a short answer.}
---
flowchart LR
    LETTER([The letter]):::Interface --> DRAFT["Custom<br/>(role: draft)"]:::CustomOp
    POLICY([Our policy]):::Interface -->|input| DRAFT
    DRAFT --> RETURN([Answer]):::Interface
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
`.replace('LETTER([The letter]):::Interface --> DRAFT', 'LETTER([The letter]):::Interface -->|input| DRAFT');

const SETS = `late:
  LETTER: |
    Dear team,
    where is my lamp?
  POLICY: {file: policy.txt}
torn:
  LETTER: The map is torn.
  POLICY: No refunds.
`;

describe('Input sets', (workbench) => {
  it('are begun as a document, run from its lenses, and chosen when the workflow is run', async () => {
    const w = workbench();
    const { page } = w;
    w.write('policy.txt', 'Lamps come within ten days.\n');
    await w.open('letters.mmd', FLOW);
    await w.lens('Run');
    await w.command('Merrow: Edit Inputs');
    await page.locator('.tab.active', { hasText: 'letters.inputs.yaml' }).waitFor();
    assert.match(w.read('letters.inputs.yaml'), /^first:\n {2}# The letter: \w+\n {2}LETTER: ""\n {2}# Our policy: \w+\n {2}POLICY: ""$/m);

    // The file as a user fills it in.
    w.write('letters.inputs.yaml', SETS);
    await w.until(async () => (await w.text()).includes('torn:'), 'the editor does not have the sets');
    await w.until(async () => (await page.locator('.codelens-decoration a', { hasText: 'Run with this set' }).count()) === 2, 'there is no lens above each set');
    await w.shot('inputs-document');
    await w.again(async () => {
      await page.locator('.codelens-decoration a', { hasText: 'Run with this set' }).first().click({ timeout: SOON });
      await w.until(async () => (await w.shownRun()) !== '', 'no run is shown', 3 * SOON);
    }, 'the lens runs nothing');
    const panel = await w.runEnded('letters.mmd');
    const given = (name) => panel.locator(`details[data-key="input ${name}"]`);
    await given('LETTER').locator('summary').click();
    await given('POLICY').locator('summary').click();
    await given('LETTER').locator('.rendered', { hasText: 'where is my lamp?' }).waitFor();
    await given('POLICY').locator('.rendered', { hasText: 'Lamps come within ten days.' }).waitFor();
    await w.shot('inputs-run');

    // When it is run with other inputs, the sets are offered.
    const first = await w.shownRun();
    await page.keyboard.press('Control+1');
    await w.open('letters.mmd');
    await w.commandAnswered('Merrow: Run Workflow with Other Inputs', 'Type the Values');
    await w.shot('inputs-choice');
    await w.answer('torn');
    await w.runEnded('letters.mmd', first);
    await w.until(async () => /The map is torn/.test(await given('LETTER').textContent()), 'the run does not have the inputs of the set');
  });

  it('complete the names of inputs; what is wrong is said at its line', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('letters.mmd', FLOW);
    await w.lens('Run');
    await w.open('letters.inputs.yaml', 'late:\n  \n');
    const suggestions = page.locator('.suggest-widget.visible .monaco-list-row');
    await w.again(async () => {
      await w.goTo(2, 3);
      await page.keyboard.press('Control+Space');
      await suggestions.filter({ hasText: 'POLICY' }).first().waitFor({ timeout: SOON });
    }, 'the names of inputs are not proposed');
    await page.keyboard.press('Escape');
    await w.closeEditors();
    await w.open('letters.inputs.yaml', 'late:\n  LETER: x\n');
    await page.locator('.monaco-editor .squiggly-warning').first().waitFor();
    await w.closeEditors();
    await w.open('letters.inputs.yaml', 'late:\n  - x\n');
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    await w.shot('inputs-wrong');
  });
}, { shared: true });
