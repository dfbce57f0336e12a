// The pictures of the README and of the walkthrough, taken of a real workbench: shots/picture-NAME.png becomes images/NAME.png. The
// answers are those of a recording, so that they look as a model's do.
import { Preview, SOON, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';
import { example, replay } from '../../support/recorded.mjs';

const SETS = `ferry:
  PROBLEM: {file: word_problem.txt}
bricks:
  PROBLEM: |
    A wall has 14 rows of 36 bricks, and a window takes 48 of them away.
    How many bricks are in the wall?
`;
const FIRST = `flowchart LR
    PROBLEM([Problem]):::Interface -->|input| SOLVE["Custom<br/>(role: solver)"] --> RETURN([Answer]):::Interface
    classDef Interface fill:#e2e2f2
`;
const viewport = { width: 1280, height: 800 };

describe(
  'Pictures',
  (workbench) => {
    it('of a workflow beside its preview, its run, its inputs, its figures and its model', async () => {
      const w = workbench();
      const { page } = w;
      replay(await endpoint(), 'vote');
      // Nothing is hovered over.
      const aside = async () => {
        await page.mouse.move(20, 600);
        await page.locator('.monaco-hover:visible').waitFor({ state: 'hidden' });
      };
      await w.until(async () => {
        if ((await page.locator('.part.sidebar:visible').count()) === 0) return true;
        await w.command('View: Toggle Primary Side Bar Visibility');
        return false;
      }, 'the side bar is not hidden');
      // What reaches the endpoint is loaded by the first run, which takes its time.
      await w.open('first.mmd', FIRST);
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'PROBLEM (', 'Hello');
      await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Run', exact: true }).click();
      await w.runEnded('first.mmd');
      await w.command('View: Hide Panel');
      await w.closeEditors();
      w.write('word_problem.txt', example('inputs/word_problem.txt'));
      w.write('vote.inputs.yaml', SETS);
      await w.open('vote.mmd', example('vote.mmd'));
      await w.lens('Run');
      const preview = await Preview.open(w);
      await preview.shows('PROBLEM', 'CAREFUL', 'EQUATIONS', 'CALCULATE', 'VOTE', 'RETURN');
      await w.goTo(15, 7);
      await preview.frame.locator('g.node[data-node="CAREFUL"] > .marks > .here').waitFor();
      await w.lens('subtasks');
      await preview.frame.getByRole('button', { name: 'Fit all (0)' }).click();
      await aside();
      await w.shot('picture-preview');

      await w.commandAnswered('Merrow: Run Workflow', 'ferry');
      await w.shot('picture-input-sets');
      await w.answer('ferry');
      await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Run', exact: true }).click();
      const panel = await w.runEnded('vote.mmd');
      for (const node of ['CAREFUL', 'VOTE']) await preview.node(node).locator('.marks > .state.finished').waitFor();
      await panel.locator('details[data-key="output RETURN"] ol').waitFor();
      await aside();
      await w.shot('picture-run');
      await preview.node('CALCULATE').click();
      await panel.locator('h1', { hasText: 'CALCULATE' }).waitFor();
      await panel.locator('summary', { hasText: 'solve' }).or(panel.locator('details[data-key^="call"] summary')).first().waitFor();
      await aside();
      await w.shot('picture-run-node');

      await page.keyboard.press('Control+1');
      await w.open('vote.inputs.yaml');
      await w.until(async () => (await page.locator('.codelens-decoration a', { hasText: 'Run with this set' }).count()) === 2, 'there is no lens above each set');
      await aside();
      await w.shot('picture-inputs');

      await w.open('vote.mmd');
      await w.again(async () => {
        await page.locator('.statusbar-item', { hasText: 'gpt-4o-mini @' }).first().click({ timeout: SOON });
        await page.locator('.quick-input-widget', { hasText: 'Run the Doctor' }).waitFor({ timeout: SOON });
      }, 'the status bar does not lead to the choice');
      await w.shot('picture-model');
      await page.keyboard.press('Escape');

      await w.command('View: Hide Panel');
      await w.again(async () => {
        await (await w.lens('subtask')).click({ timeout: SOON });
        await page.locator('.tab', { hasText: 'Figures of vote' }).first().waitFor({ timeout: SOON });
      }, 'the lens opens no page of figures');
      const figures = await w.frame('h1:has-text("Figures of vote.mmd")');
      await figures.locator('td', { hasText: 'Parallelism' }).waitFor();
      await w.shot('picture-figures');
      (await endpoint()).answerWith(undefined);
    });

    it('of a problem with its repair', async () => {
      const w = workbench();
      const { page } = w;
      await w.open('broken.mmd', example('vote.mmd').replace('    CALCULATE --> VOTE\n', '').replace('PROBLEM -->|problem| CALCULATE', 'PROBLEM -->|problm| CALCULATE'));
      await page.locator('.monaco-editor .squiggly-error').first().waitFor();
      await w.goTo(23, 18);
      // The lines go on scrolling for a moment; the menu must open below the line where it then stands.
      const place = async () => JSON.stringify(await page.locator('.monaco-editor .cursor').first().boundingBox());
      let before = '';
      await w.until(async () => {
        const now = await place();
        const same = now === before;
        before = now;
        return same;
      }, 'the lines do not come to rest');
      const menu = page.locator('.action-widget');
      await w.again(async () => {
        await page.keyboard.press('Control+.');
        await menu.locator('.monaco-list-row', { hasText: 'problem' }).first().waitFor({ timeout: SOON });
      }, 'no repair is offered');
      await w.shot('picture-quick-fix');
      await page.keyboard.press('Escape');
    });
  },
  { profile: 'endpoint', viewport },
);
