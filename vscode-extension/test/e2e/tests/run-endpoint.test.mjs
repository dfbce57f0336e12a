// Runs against an endpoint: what they may cost is said first; one is stopped in the middle and resumed without a call made twice; the
// journal has them, two are compared, one is deleted.
import { Preview, SOON, assert, describe, it } from '../support/harness.mjs';
import { KEY, endpoint } from '../support/endpoint.mjs';

const FLOW = `flowchart LR
    PROBLEM([Problem]):::Interface --> FIRST["Custom<br/>(role: first)"]:::CustomOp
    FIRST --> SECOND["Custom<br/>(role: second)"]:::CustomOp
    SECOND --> THIRD["Custom<br/>(role: third)"]:::CustomOp
    THIRD --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;
const HEAD = `---
workflow:
  prompts:
    first: Plan the work.
    second: Do the work.
    third: Check the work.
---
`;
const NODES = ['PROBLEM', 'FIRST', 'SECOND', 'THIRD', 'RETURN'];

describe(
  'Run against an endpoint',
  (workbench) => {
    it('is asked for once, stopped in the middle, and resumed without a call made twice', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      // The endpoint is that of the whole profile.
      const counts = () => ['Plan', 'Check'].map((word) => model.asked(word));
      const before = counts();
      model.hold((messages) => messages[0].content.includes('Do the work'));
      await w.open('chain.mmd', HEAD + FLOW);
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'Run chain.mmd', 'How many bricks are in the wall?');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      assert.match(await dialog.innerText(), /It may make 3 calls to http:\/\/127\.0\.0\.1:\d+ .*Cost: not known/s);
      await w.shot('run-consent');
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
      await preview.node('SECOND').locator('.marks > .state.running').waitFor();
      await w.until(() => model.held === 1, 'the second node asks nothing');
      await page.locator('.statusbar-item', { hasText: /Merrow 2\/5/ }).waitFor();
      await w.shot('run-going-on');
      await w.command('Merrow: Stop Run');
      await page.locator('.statusbar-item', { hasText: 'Merrow stopped 2/5' }).waitFor();
      await preview.node('SECOND').locator('.marks > .state.cancelled').waitFor();
      await w.shot('run-stopped');
      model.release();
      await w.command('Merrow: Resume Run');
      for (const node of NODES) await preview.node(node).locator('.marks > :is(.state.finished, .state.reused)').waitFor();
      const panel = await w.runEnded('chain.mmd');
      assert.deepEqual(counts().map((count, place) => count - before[place]), [1, 1]);
      assert.deepEqual([...model.keys], [`Bearer ${KEY}`]);
      assert.match(await panel.locator('header .badge').innerText(), /127\.0\.0\.1/);
      assert.doesNotMatch(await panel.locator('main').innerText(), /sk-e2e/);
      assert.doesNotMatch(w.server.log(), /sk-e2e/);
    });

    it('is in the tree of runs; two are compared, one is deleted', async () => {
      const w = workbench();
      const { page } = w;
      await w.open('chain.mmd');
      const before = await w.shownRun();
      await w.commandAnswered('Merrow: Run Workflow with Other Inputs', 'Run chain.mmd', 'How many windows are in the wall?');
      await w.runEnded('chain.mmd', before);
      // Another file of this window may have left a stopped run.
      const runs = (await w.runsOf('chain.mmd')).filter({ hasText: 'cost unknown', hasNotText: 'stopped' });
      await w.until(async () => (await runs.count()) === 2, 'the tree does not have two runs');
      await w.shot('runs-tree');
      await w.chooseForBoth(runs.nth(0), runs.nth(1), 'Compare Runs', page.locator('.tab.active', { hasText: '↔' }));
      await page.locator('.multiDiffEntry').first().waitFor();
      await page.locator('.multiDiffEntry .view-line', { hasText: 'windows' }).first().waitFor();
      await w.shot('runs-compared');
      await runs.nth(1).click();
      await page.locator('.view-line', { hasText: 'How many bricks' }).first().waitFor();
      const sure = page.locator('.monaco-dialog-box').getByRole('button', { name: 'Delete' });
      await w.again(async () => {
        await runs.nth(1).click({ button: 'right', timeout: SOON });
        await w.choose('Delete', SOON);
        await sure.waitFor({ timeout: SOON });
      }, 'nobody is asked whether the run is to be deleted');
      await sure.click();
      await w.until(async () => (await runs.count()) === 1, 'the run is not deleted');
    });

    it('runs from a node on, with the rest reused', async () => {
      const w = workbench();
      const model = await endpoint();
      const [asked, before] = [model.questions.length, await w.shownRun()];
      await w.open('chain.mmd');
      await w.goTo(11, 18);
      await w.command('Merrow: Run from Here');
      await w.runEnded('chain.mmd', before);
      assert.deepEqual(model.questions.slice(asked).map(([{ content }]) => content.trim()), ['Check the work.']);
      const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
      await preview.node('FIRST').locator('.marks > .state.reused').waitFor();
      assert.match(await preview.frame.locator('.legend').innerText(), /\d+ reused/);
      await w.shot('run-from-here');

      // The text moves away from the results: those of the node, and of what comes after it, are out of date.
      await w.open('chain.mmd');
      await w.insert(10, FLOW.split('\n')[2].indexOf('second)') + 1, 'very ', 'role: very second');
      for (const node of ['SECOND', 'THIRD']) await preview.node(node).locator('.marks > .state.stale').waitFor();
      assert.equal(await preview.node('FIRST').locator('.marks > .state.stale').count(), 0);
      await w.shot('run-stale');
    });

    it('a dry run is read in the panel', async () => {
      const w = workbench();
      await w.open('chain.mmd');
      const before = (await endpoint()).questions.length;
      await w.command('Merrow: Dry Run');
      const panel = await w.frame('main > .value');
      await panel.locator('main li', { hasText: 'Calls: 3' }).waitFor();
      assert.equal(await w.page.locator('.tab', { hasText: 'Dry run' }).count(), 0);
      await w.shot('dry-run');
      assert.equal((await endpoint()).questions.length, before);
    });
  },
  { profile: 'endpoint' },
);
