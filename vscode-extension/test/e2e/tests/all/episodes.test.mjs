// The episode of a run in an environment: its turns and its reward in the panel, while it goes on and afterwards, in every kind of theme.
import { Preview, SOON, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';
import { example, replay } from '../../support/recorded.mjs';

const THEMES = [
  ['Dark High Contrast', 'vscode-high-contrast', 'high-contrast'],
  ['Light Modern', 'vscode-light', 'light'],
  ['Dark Modern', 'vscode-dark', 'dark'],
];

const TASK = '{"seed": 25, "depth": 3}';

describe(
  'An episode',
  (workbench) => {
    it('is shown turn by turn while it goes on, of a journalled run, and at its environment', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      replay(model, 'patterns/react_textcraft');
      model.hold(() => model.questions.length === 4);
      await w.open('game.mmd', example('patterns/react_textcraft.mmd'));
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'Run game.mmd', TASK);
      await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Run', exact: true }).click();
      await w.until(() => model.held === 1, 'the fourth question is not asked');
      const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
      await preview.click('GAME');
      const panel = await w.frame('main details.episode');
      await panel.locator('h1', { hasText: 'GAME' }).waitFor();
      await panel.locator('button[data-act=whole]').click();
      await panel.locator('h1', { hasText: 'game.mmd' }).waitFor();
      const rows = panel.locator('.turns tbody tr');
      await w.until(async () => (await rows.count()) === 4, 'the turns so far are not shown');
      await w.shot('episode-running');
      model.release();
      await w.runEnded('game.mmd');
      await panel.locator('.turns tr.gain.end').waitFor();
      const turns = await rows.count();
      assert.ok(turns > 4);
      assert.match(await panel.locator('.curve figcaption').innerText(), new RegExp(`Reward so far: 1 after ${turns} turns`));
      for (const [theme, kind, name] of THEMES) {
        await w.again(async () => {
          await w.command('Preferences: Color Theme');
          await w.answer(theme);
          await panel.locator(`xpath=//body[@data-vscode-theme-kind="${kind}"]`).waitFor({ timeout: SOON });
        }, `the theme does not become ${theme}`);
        await w.shot(`episode-${name}`);
      }
      await preview.click('GAME');
      await panel.locator('h1', { hasText: 'GAME' }).waitFor();
      await panel.locator('.turns tr[aria-current="true"]').waitFor();
      await panel.locator('.turns button.link', { hasText: /^2$/ }).click();
      await panel.locator('.turns tr[aria-current="true"] button', { hasText: /^2$/ }).waitFor();
      await w.shot('episode-node');
    });
  },
  { profile: 'endpoint', shared: true },
);
