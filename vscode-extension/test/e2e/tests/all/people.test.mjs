// A person answers inside a Loop: from a notification, from the lens, and from the list of open questions in the status bar. A form with
// several fields is filled in, a text is edited, a question is declined, and one inside a called file is answered there.
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';

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

/** A workflow of one Human between an input and an output. */
const one = (human, front = '', way = 'input') => `---
workflow: {inputs: [PROBLEM]${front}}
---
flowchart LR
    PROBLEM@{ shape: stadium, type: Text }
    class PROBLEM Interface
    ${human}
    RETURN([Answer]):::Interface
    PROBLEM -->|${way}| ASK
    ASK -->|answer:result| RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const ORDER = ', types: {Meal: [soup, salad], Extra: [bread, wine, cheese], Order: {article: Text, count: Number, express: Bool, meal: Meal, extras: "list[Extra]"}}';
const FORM = one('ASK@{op: Human, ask: "What shall we order?", returns: Order}', ORDER);
const EDIT = one('ASK@{op: Human, ask: "Edit the letter."}', '', 'draft');
const INNER = one('ASK@{op: Human, ask: "Is the part right?", returns: Bool, on_error: default, default: no}');
const CALLER = `flowchart LR
    PROBLEM@{ shape: stadium, type: Text }
    class PROBLEM Interface
    PART@{ op: Call, workflow: ./people-part.mmd }
    RETURN([Answer]):::Interface
    PROBLEM --> PART --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
/** Long enough for an editor of its own. */
const LETTER = `Dear Ann, the library is closed on Friday, since its shelves are painted. ${'We are sorry for that. '.repeat(5)}Yours, the library`;

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

  /** Begin a run of the file that is open, with an input, and wait for its question. */
  const begun = async (w, name, input, asked) => {
    await w.lens('Run');
    await w.commandAnswered('Merrow: Run Workflow', `Run ${name}`, input);
    return w.notification(asked);
  };

  it('inside a called file are answered there, and its Call shows that it waits', async () => {
    const w = workbench();
    const { page } = w;
    w.write('people-part.mmd', INNER);
    await w.open('people-call.mmd', CALLER);
    await begun(w, 'people-call.mmd', 'A part.', 'PART/ASK asks: Is the part right?');
    const outside = new Preview(w, await w.frame('body[data-engine] g[data-node="PART"]'));
    await outside.node('PART').locator('.marks > .state.asking').waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'Answer...' }).waitFor();
    await w.shot('people-call');
    await w.open('people-part.mmd');
    await w.command('Merrow: Open Preview to the Side');
    const inside = new Preview(w, await w.frame('body[data-engine] g[data-node="ASK"]'));
    await inside.node('ASK').locator('.marks > .state.asking').waitFor();
    const lens = await w.lens('Answer...');
    await w.shot('people-called');
    await lens.click();
    const form = page.locator('.quick-input-widget', { hasText: 'PART/ASK asks: Is the part right?' });
    await form.locator('.monaco-list-row', { hasText: 'Decline to Answer' }).waitFor();
    await w.shot('people-called-form');
    await form.locator('.monaco-list-row', { hasText: 'Decline to Answer' }).click();
    await page.locator('.statusbar-item', { hasText: 'question' }).waitFor({ state: 'hidden' });
    await inside.node('ASK').locator('.marks > .state:is(.finished, .failed)').waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'Answer...' }).waitFor({ state: 'hidden' });
    await w.shot('people-declined');
  });

  it('are answered in a form with several fields, from the tree of runs', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('people-form.mmd', FORM);
    await begun(w, 'people-form.mmd', 'For the party.', 'ASK asks: What shall we order?');
    await w.command('Notifications: Clear All Notifications');
    const form = page.locator('.quick-input-widget', { hasText: 'ASK asks: What shall we order?' });
    const row = (await w.runsOf('people-form.mmd')).first();
    await row.waitFor();
    await w.again(async () => {
      await row.hover({ timeout: SOON });
      await row.getByRole('button', { name: 'Answer Question...' }).click({ timeout: SOON });
      await form.waitFor({ timeout: SOON });
    }, 'the tree of runs does not ask the question');
    const step = (words) => page.locator('.quick-input-widget', { hasText: words });
    const input = page.locator('.quick-input-widget input[type=text]').first();
    await step('(1/6)').waitFor();
    await w.shot('people-form-text');
    await input.fill('Bread');
    await input.press('Enter');
    await step('(2/6)').waitFor();
    await input.fill('many');
    await input.press('Enter');
    await step(/number/i).waitFor();
    await w.shot('people-form-number');
    await input.fill('3');
    await input.press('Enter');
    await step('(3/6)').waitFor();
    await w.shot('people-form-truth');
    await form.locator('.monaco-list-row', { hasText: 'Yes' }).click();
    await step('(4/6)').waitFor();
    await w.shot('people-form-word');
    await form.locator('.monaco-list-row', { hasText: 'salad' }).click();
    await step('(5/6)').waitFor();
    for (const word of ['bread', 'cheese']) await form.locator('.monaco-list-row', { hasText: word }).click();
    await w.shot('people-form-words');
    await page.locator('.quick-input-widget').getByRole('button', { name: 'OK' }).click();
    await step('(6/6)').waitFor();
    await w.shot('people-form-note');
    await input.press('Enter');
    const panel = await w.runEnded('people-form.mmd');
    const result = await panel.locator('main').innerText();
    for (const words of ['Bread', '3', 'salad', 'cheese']) assert.ok(result.includes(words), `${words} is not in ${result}`);
    assert.ok(!result.includes('wine'));
    await w.shot('people-form-result');
  });

  it('are answered by editing a long text in an editor', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('people-edit.mmd', EDIT);
    await begun(w, 'people-edit.mmd', LETTER, 'ASK asks: Edit the letter.');
    await w.answerNotification('ASK asks: Edit the letter.', 'Answer…');
    await w.notification('Edit the text of');
    const text = () => page.locator('.monaco-editor .view-lines').first().innerText();
    await page.locator('.tab.active[aria-label*="Untitled"]').waitFor();
    await w.shot('people-edit');
    await w.until(async () => (await text()).replaceAll('\u00a0', ' ').includes('the library is closed on Friday'), 'the editor does not have the text');
    await page.locator('.monaco-editor').first().click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' (edited)');
    await w.answerNotification('Edit the text of', 'Send');
    const note = page.locator('.quick-input-widget', { hasText: 'ASK asks: Edit the letter.' });
    await note.waitFor();
    await page.locator('.quick-input-widget input[type=text]').first().press('Enter');
    const panel = await w.runEnded('people-edit.mmd');
    assert.match(await panel.locator('main').innerText(), /Yours, the library \(edited\)/);
    await w.shot('people-edited');
  });
});
