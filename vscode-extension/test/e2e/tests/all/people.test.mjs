// A person answers inside a Loop: from a notification, from the lens, and from the list of open questions in the status bar.
import { Preview, assert, describe, it } from '../../support/harness.mjs';

const FLOW = `---
workflow:
  types: {Mood: [good, bad]}
---
flowchart LR
    PROBLEM([Problem]):::Interface
    subgraph L["Loop (max: 4)"]
        WRITE["Custom<br/>(prompt: Write it.)"]:::CustomOp
        LOOK@{op: Human, ask: "Is it good?", returns: Mood}
        D{which?}:::DecisionOp
    end
    RETURN([Answer]):::Interface
    PROBLEM -->|input| WRITE
    WRITE -->|input| LOOK
    LOOK -->|when| D
    WRITE -->|value| D
    D -->|bad:again:input| WRITE
    D -->|good| RETURN
    WRITE -->|over| RETURN
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;

describe('Questions to people', (workbench) => {
  it('are answered inside a Loop', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('ask.mmd', FLOW);
    await w.lens('Run');
    await w.commandAnswered('Merrow: Run Workflow', 'Run ask.mmd', 'A letter.');
    const toast = page.locator('.notification-toast', { hasText: 'L[1]/LOOK asks: Is it good?' });
    await toast.waitFor();
    const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
    await preview.node('LOOK').locator('.marks > .state.asking').waitFor();
    await page.locator('.statusbar-item', { hasText: '1 question' }).waitFor();
    await w.shot('people-notification');
    await toast.getByRole('button', { name: 'bad', exact: true }).click();
    const second = page.locator('.notification-toast', { hasText: 'L[2]/LOOK asks: Is it good?' });
    await second.waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'Answer...' }).waitFor();
    await page.locator('.statusbar-item', { hasText: '1 question' }).click();
    const form = page.locator('.quick-input-widget', { hasText: 'L[2]/LOOK asks: Is it good?' });
    await form.waitFor();
    await w.shot('people-form');
    await form.locator('.monaco-list-row', { hasText: 'good' }).click();
    await page.locator('.quick-input-widget input').press('Enter'); // no note
    await preview.node('RETURN').locator('.marks > .state.finished').waitFor();
    await page.locator('.statusbar-item', { hasText: 'question' }).waitFor({ state: 'hidden' });
    assert.equal(await preview.node('LOOK').locator('.marks > .state.finished').count(), 1);
    await w.shot('people-answered');
  });
});
