// A drawing that names no operators, as people see it: what the preview says of it, what is asked before a run, and how a loop shows
// whose turns ran out; in the light and the dark.
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const DRAWING = `flowchart LR
    PLAN[Plan the letter] --> DRAFT[Draft the letter]
    DRAFT --> GOOD{Is it good?}
    GOOD -->|no| DRAFT
    GOOD -->|yes| SEND[Send an email to the customer]
    SEND --> END([Done])
`;
/** Of a node's box, 0 to 255. */
const brightness = (node) => node.locator('rect, path').first().evaluate((box) => Number(getComputedStyle(box).fill.match(/\d+/)?.[0] ?? Number.NaN));
const THEMES = [['Dark Modern', 'vscode-dark', 'dark'], ['Light Modern', 'vscode-light', 'light']];

describe(
  'A drawing',
  (workbench) => {
    it('has its reading and its buttons in the preview, says what is only played, and shows a loop that ran out in amber', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith((messages) => (messages[0].content.includes('Is it good?') ? '{"choice": "no"}' : undefined));
      await w.open('letter.mmd', DRAWING);
      await w.command('Merrow: Open Preview to the Side');
      const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
      await preview.node('SEND').waitFor();
      const themed = async (picture) => {
        for (const [theme, kind, name] of THEMES) {
          await w.again(async () => {
            await w.command('Preferences: Color Theme');
            await w.answer(theme);
            await preview.frame.locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor({ timeout: SOON });
          }, `the theme does not become ${theme}`);
          // The picture is drawn again in the colours of the theme.
          await w.until(async () => (await brightness(preview.node('PLAN'))) > 128 === (name === 'light'), 'the picture keeps the colours of the other theme');
          await w.shot(`${picture}-${name}`);
        }
      };
      await preview.frame.getByRole('button', { name: 'Write the operators out' }).waitFor();
      await themed('drawn-notice');
      await preview.frame.getByRole('button', { name: 'Run as drawn' }).click();
      await w.answer('Ask for a refund');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      await w.shot('drawn-consent');
      assert.match(await dialog.innerText(), /played by a model/);
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      await w.runEnded('letter.mmd');
      await themed('drawn-exhausted');
    });
  },
  { profile: 'endpoint' },
);
