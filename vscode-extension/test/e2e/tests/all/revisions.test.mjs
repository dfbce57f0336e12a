// A run that is revised while it goes on: with the file as it is now, and by a model that asks first. The preview says what is kept, made
// again, new and gone; what the run became is taken into the file beside what was typed meanwhile; and nothing finished is asked again.
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const flow = (middle, head = '') => `---
workflow:
${head}  prompts:
    first: Draw the house.
    second: Paint the house.
    extra: Look for gaps.
    third: Judge the house.
---
flowchart LR
    PROBLEM([Problem]):::Interface
    FIRST["Custom<br/>(role: first)"]:::CustomOp
    ${middle}["Custom<br/>(role: ${middle.toLowerCase()})"]:::CustomOp
    THIRD["Custom<br/>(role: third)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM --> FIRST --> ${middle} --> THIRD --> RETURN
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const REASON = 'A stranger sees more <img src=x onerror=alert(1)> [click me](command:workbench.action.closeWindow)';
const changes = [
  { do: 'add', id: 'CHECK', objective: 'Look for gaps in the house.', after: ['SECOND'], before: ['THIRD'] },
  { do: 'edit', id: 'THIRD', objective: 'Judge the house as a stranger.' },
];
const state = (...names) => `.marks > :is(${names.map((name) => `.state.${name}`).join(', ')})`;

/** Run a workflow that was opened; its preview. */
async function begun(w, name, subject) {
  await w.lens('Run');
  await w.commandAnswered('Merrow: Run Workflow', `Run ${name}`, subject);
  const dialog = w.page.locator('.monaco-dialog-box');
  await dialog.waitFor();
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  return new Preview(w, await w.frame('body[data-engine] .viewport'));
}

describe(
  'Revisions of a run',
  (workbench) => {
    it('by a person: the run continues as the file is now', async () => {
      const w = workbench();
      const model = await endpoint();
      model.hold((messages) => ['Judge the house', 'Look for gaps'].some((words) => messages[0].content.includes(words)));
      await w.open('house.mmd', flow('SECOND'));
      const preview = await begun(w, 'house.mmd', 'A house for a cat');
      await preview.node('THIRD').locator(state('running')).waitFor();
      const banner = preview.frame.locator('.revision');

      // A file with errors is refused in a sentence, and the run goes on.
      await w.open('house.mmd', flow('SECOND').replace('-->', '-- '));
      await w.until(async () => (await w.text()).includes('PROBLEM --  FIRST'), 'the file is not loaded again');
      await w.command('Merrow: Apply My File to the Run');
      await w.notification('the run goes on as it was');
      await w.shot('revision-refused');
      await w.command('Notifications: Clear All Notifications');

      await w.open('house.mmd', flow('EXTRA'));
      await w.until(async () => (await w.text()).includes('EXTRA'), 'the file is not loaded again');
      await w.command('Merrow: Apply My File to the Run');
      await preview.node('EXTRA').locator(state('running')).waitFor();
      await preview.node('FIRST').locator(state('kept')).waitFor();
      await preview.node('SECOND').locator(state('gone')).waitFor();
      assert.match(await banner.innerText(), /Revision 2.*by a person: 1 kept.*1 new.*1 gone/s);
      await w.shot('revision-person');

      model.release();
      const panel = await w.runEnded('house.mmd');
      await preview.shows('PROBLEM', 'FIRST', 'EXTRA', 'THIRD', 'RETURN');
      assert.match(await panel.locator('main').innerText(), /Revision 1 refused.*Revision 2 by a person/s);
      await panel.getByRole('button', { name: 'Revision 2' }).click();
      await w.page.locator('.tab.active', { hasText: 'Revision 2: before ↔ after' }).waitFor();
      assert.deepEqual(['Draw', 'Paint'].map((word) => model.asked(`${word} the house`)), [1, 1]);
      await w.shot('revision-difference');
    });

    it('by a model that asks first: agreed to, accepted into the file, and gone back from', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      const drawn = model.asked('Draw the house');
      model.answerWith((messages) => (messages[0].content.startsWith('You look after') ? JSON.stringify({ reason: REASON, changes }) : undefined));
      model.hold((messages) => ['Judge the house', 'Look for gaps'].some((words) => messages[0].content.includes(words)));
      await w.open('stranger.mmd', flow('SECOND', '  refine: {every: 2, max: 1, ask: true}\n'));
      const preview = await begun(w, 'stranger.mmd', 'A house for a dog');
      const banner = preview.frame.locator('.revision');
      await banner.getByRole('button', { name: 'Apply' }).waitFor();
      const question = await w.notification('The model wants to revise the run of stranger.mmd');
      // A model's words are words: neither HTML nor links.
      assert.equal(await banner.locator('img').count(), 0);
      assert.match(await banner.innerText(), /<img src=x onerror=alert\(1\)>/);
      assert.equal(await question.locator('a', { hasText: 'click me' }).count(), 0);
      await w.shot('revision-asked');
      await page.keyboard.press('Escape'); // the list of notifications, where it is open
      await banner.getByRole('button', { name: 'Apply' }).click();
      await preview.node('CHECK').locator(state('running')).waitFor();
      await preview.node('SECOND').locator(state('kept')).waitFor();
      await w.shot('revision-model');

      // What was typed meanwhile stays.
      await w.insert(9, 4, '\n%% mine', '%% mine');
      await banner.getByRole('button', { name: 'Accept into the File' }).click();
      const text = await w.until(async () => {
        const shown = await w.text(); // empty while it is drawn again
        return /%% mine[^]*CHECK/.test(shown) && shown;
      }, 'the revision is not in the file');
      assert.match(text, /^flowchart LR/m);
      assert.equal(await page.locator('.tab', { hasText: 'stranger.mmd' }).count(), 2); // the file and its preview
      await w.shot('revision-accepted');

      const beginning = page.locator('.quick-input-list .monaco-list-row', { hasText: 'The Beginning' });
      // The text takes the focus once it has the revision, which closes a list that was opened before.
      await w.again(async () => {
        await banner.getByRole('button', { name: 'Go Back' }).click({ timeout: SOON });
        await beginning.click({ timeout: SOON });
        await beginning.waitFor({ state: 'hidden', timeout: SOON });
      }, 'the list of revisions takes no answer');
      await preview.node('THIRD').locator(state('running')).waitFor();
      await preview.node('CHECK').locator(state('gone')).waitFor();
      await w.shot('revision-back');
      model.answerWith(undefined);
      model.release();
      await w.runEnded('stranger.mmd');
      assert.equal(model.asked('Draw the house') - drawn, 1);
    });
  },
  { profile: 'endpoint', shared: true },
);
