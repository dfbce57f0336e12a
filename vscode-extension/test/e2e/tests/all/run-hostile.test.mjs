// What a model answers, an endpoint reports and a workflow calls itself is shown as words everywhere: no script, no command, no request.
import { assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';
import { Preview } from '../../support/preview.mjs';
import { Trap, Watch } from '../../support/trap.mjs';

const trap = await Trap.start();
const T = trap.url;
const COMMAND = 'command:workbench.action.closeAllEditors';
/** In one line, for prompts, which the endpoint repeats in its answers, and for all else that takes words. */
const EVIL = (where) =>
  `<img src=x onerror=globalThis.pwned='${where}'><img src='${T}/${where}'><script>globalThis.pwned='${where}'</script>[link-${where}](${COMMAND}) ![i](${T}/${where}-md) <a href='${COMMAND}'>a-${where}</a> $(bell)`;
/** The same for a name of a file, which takes no slash. */
const NAME = `[x](${COMMAND}) <img src=x onerror=pwned=1>.mmd`;

const FLOW = `---
title: ${JSON.stringify(EVIL('title'))}
workflow:
  prompts:
    first: ${JSON.stringify(EVIL('prompt'))}
    second: Harmless second step.
---
flowchart LR
    PROBLEM(["${EVIL('label').replaceAll('"', "'")}"]):::Interface --> FIRST["Custom<br/>(role: first)"]:::CustomOp
    FIRST --> SECOND["Custom<br/>(role: second)"]:::CustomOp
    SECOND --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;

describe(
  'Hostile runs',
  (workbench) => {
    it('show names, titles, inputs, answers and failures as words', async () => {
      const w = workbench();
      const { page } = w;
      const watch = new Watch(w);
      const model = await endpoint();
      const dialog = page.locator('.monaco-dialog-box');
      const harmless = async (where) => {
        assert.deepEqual(await watch.found(), [], where);
        assert.deepEqual(trap.visits, [], where);
        for (const frame of page.frames()) {
          const live = await frame
            .locator(`[href^="${COMMAND}"], [data-href^="${COMMAND}"], img[src*="${T}"], img[onerror], script:has-text("pwned")`)
            .evaluateAll((found) => found.map((one) => one.outerHTML))
            .catch(() => []);
          assert.deepEqual(live, [], where);
        }
      };

      // The lens, the preview, the question for the input, the consent.
      await w.open(NAME, FLOW);
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'PROBLEM');
      await w.shot('hostile-run-input');
      await harmless('the question for an input');
      await w.answer(EVIL('input'));
      await dialog.waitFor();
      await w.shot('hostile-run-consent');
      await harmless('the consent');
      model.hold((messages) => messages[0].content.includes('Harmless second'));
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
      await w.until(() => model.held === 1, 'the second node asks nothing');
      await preview.node('FIRST').locator('.marks > .state.finished').waitFor();

      // The notification, for somebody who looks at something else.
      await page.keyboard.press('Control+1');
      await w.open('aside.txt', 'aside\n');
      model.release();
      const finished = await w.notification('finished');
      assert.ok((await finished.innerText()).includes('<img src=x onerror=pwned=1>'), 'the notification does not have the name in words');
      await w.shot('hostile-run-notification');
      await harmless('the notification');
      await w.answerNotification('finished', 'Show Result');
      const whole = await w.runEnded('onerror');
      await whole.locator('details[data-key="input PROBLEM"] > summary').click();
      await whole.locator('details[data-key="input PROBLEM"] .rendered', { hasText: `link-input (${COMMAND})` }).waitFor();
      await w.shot('hostile-run-result');
      assert.deepEqual(await whole.locator('main img, main script, main iframe, main a').count(), 0);
      await harmless('the result');
      await whole.locator('details[data-key="input PROBLEM"] button[data-act="open"]').click();
      await page.locator('.tab.active', { hasText: 'PROBLEM.md' }).waitFor();
      await harmless('the result as a document');

      // The panel of the run and of a node, with its prompt and its answer.
      await w.open(NAME);
      await preview.click('FIRST');
      const panel = await w.frame('main header h1');
      await panel.locator('h1', { hasText: 'FIRST' }).waitFor();
      await panel.locator('summary', { hasText: 'answer' }).first().waitFor();
      for (const summary of await panel.locator('details:not([open]) > summary').all()) await summary.click().catch(() => undefined);
      assert.ok((await panel.locator('main').innerText()).includes('link-prompt'), 'the panel does not show the answer');
      assert.deepEqual(await panel.locator('main img, main script, main iframe, main a[href^="command:"]').count(), 0);
      const output = panel.locator('details[data-key="output response"]');
      await output.locator('.rendered', { hasText: `link-prompt (${COMMAND})` }).waitFor();
      await output.locator('button[data-act="copy"]').click();
      await w.until(async () => (await page.evaluate(() => navigator.clipboard.readText())).includes('<script>globalThis.pwned'), 'what is copied is not the answer as it came');
      await w.shot('hostile-run-panel');
      await harmless('the panel');
      await page.keyboard.press('Control+1');
      await w.goTo(9, FLOW.split('\n')[8].indexOf('FIRST') + 2);
      await w.command('Show or Focus Hover');
      await page.locator('.monaco-hover:visible').first().waitFor();
      await w.shot('hostile-run-hover');
      await harmless('the hover');

      // A failure in the endpoint's words.
      model.refuse(EVIL('failure'));
      await w.commandAnswered('Merrow: Run Workflow with Other Inputs', 'PROBLEM', EVIL('other'));
      const failed = await w.notification('failed');
      await w.shot('hostile-run-failure');
      assert.ok((await failed.innerText()).includes('onerror'), 'the failure does not have the words of the endpoint');
      await harmless('the failure');
      model.refuse(undefined);

      // The tree of runs, its tooltip, and the comparison of two.
      const runs = await w.runsOf('pwned=1');
      await w.until(async () => (await runs.count()) >= 2, 'the tree does not have the runs');
      await runs.nth(0).hover();
      await page.locator('.monaco-hover:visible').first().waitFor();
      await w.shot('hostile-run-tree');
      await harmless('the tree');
      await w.chooseForBoth(runs.nth(0), runs.nth(1), 'Compare Runs', page.locator('.tab.active', { hasText: '↔' }));
      await page.locator('.multiDiffEntry').first().waitFor();
      await w.shot('hostile-run-comparison');
      await harmless('the comparison');
    });
  },
  { profile: 'endpoint' },
);
