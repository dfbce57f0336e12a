// Planning a workflow: a task is given or selected, the cost is said first, plans are drawn side by side with figures and what they
// cover, one is opened with its preview. What a model writes is shown as text; planning can be stopped; without a model it works too.
import { assert, describe, it, Preview } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>[run](command:workbench.action.quit)';
const TASK = 'Write a web page for our conference, with a schedule and a map.';
const agents = [{ id: 'writer', role: `Writer ${HOSTILE}`, prompt: '' }, { id: 'designer', role: 'Web designer', prompt: '' }];
const task = (id, after = [], agent = 'writer') => ({ id, objective: `Make the ${id}. ${HOSTILE}`, agent, output_format: '', after });
const plans = [
  { agents, tasks: [task('text'), task('schedule', ['text']), task('map', ['schedule'], 'designer'), task('page', ['map'], 'designer')] },
  { agents, tasks: [task('text'), task('schedule'), task('map', [], 'designer'), task('page', ['text', 'schedule', 'map'], 'designer')] },
];
const SVG = '.cards .picture:not(.building) svg';

/** Two plans, an answer that is none, and a judge. */
function planner() {
  const left = plans.map((plan) => JSON.stringify(plan));
  return (messages) => {
    if (messages[0].content.includes('plans of it')) {
      const met = (id) => [1, 2].map((plan) => ({ plan, task: id }));
      return JSON.stringify({ requirements: [{ requirement: `a schedule ${HOSTILE}`, met_by: met('schedule') }, { requirement: 'a map', met_by: met('map') }, { requirement: 'prices', met_by: [] }] });
    }
    return left.shift() ?? `I won't. ${HOSTILE}`;
  };
}

async function opened(w) {
  await w.command('Merrow: Plan a Workflow...');
  return w.frame('textarea#task');
}

describe(
  'Planning a workflow',
  (workbench) => {
    it('says the cost first, draws the plans side by side, and opens one with its preview', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.answerWith(planner());
      const frame = await opened(w);
      await frame.locator('form .about', { hasText: /at http:\/\/127\.0\.0\.1:\d+ will plan\. You are asked first/ }).waitFor();
      await w.shot('plan-task');
      await frame.locator('textarea#task').fill(TASK);
      await page.keyboard.press('Control+Enter');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.waitFor();
      assert.match(await dialog.innerText(), /4 to 13 calls to \S+ at http:\/\/127\.0\.0\.1:\d+.*the price is not known/s);
      assert.equal(model.asked('You plan how'), 0);
      await w.shot('plan-consent');
      await dialog.getByRole('button', { name: 'Ask the Model', exact: true }).click();
      await frame.locator('article').first().waitFor();
      await w.until(async () => (await frame.locator(SVG).count()) === 2, 'there are no two diagrams');
      await w.shot('plan');
      const [first, second] = [frame.locator('article').nth(0), frame.locator('article').nth(1)];
      assert.match(await first.innerText(), /Plan 1\s*Best.*4 tasks in 2 steps.*Use This Plan.*expected\s+1 of 2\s+score .*paper\s+1 of 2.*code\s+. of 2.*Covers 2 of 3 requirements/s);
      assert.match(await second.innerText(), /Plan 2\s*4 tasks in 4 steps.*expected\s+2 of 2/s);
      assert.match(await frame.locator('.refused').innerText(), /Plan 3 can’t be used: It has no JSON object with `tasks`\./);
      assert.match(await frame.locator('footer').innerText(), /Ranked by “expected”.*It assumes.*Planned by .* at http.*: 6 calls/s);
      // What a model writes is text: no element of its making, and nothing that runs.
      assert.equal(await frame.locator('main img').count(), 0);
      assert.equal(await frame.locator('main a').count(), 0);
      assert.ok((await first.innerText()).includes(`a schedule ${HOSTILE}`));
      await first.locator('summary').click();
      assert.ok((await first.locator('dl').innerText()).includes(`Make the text. ${HOSTILE}`));
      await second.scrollIntoViewIfNeeded();
      await w.shot('plan-tasks');
      // By keyboard alone: the focus is on the best plan, and Enter opens it.
      const use = frame.getByRole('button', { name: 'Use plan 1' });
      await use.focus();
      await page.keyboard.press('Enter');
      const preview = new Preview(w, await w.frame('.toolbar'));
      await preview.shows('PROBLEM', 'text', 'schedule', 'map', 'page', 'ASSEMBLE', 'RETURN');
      await w.shot('plan-used');
      await page.locator('.tab', { hasText: 'Untitled' }).first().waitFor();
      model.answerWith(undefined);
    });

    it('takes the selection of a text file as the task, and can be stopped', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      let asked = '';
      model.hold((messages) => {
        const plans = messages[0].content.startsWith('You plan how');
        if (plans) asked = messages[0].content;
        return plans;
      });
      await w.open('notes.txt', `Buy milk.\n${TASK}\nIn two languages.\n`);
      await w.goTo(2, 1);
      await page.keyboard.press('Control+Shift+End');
      const frame = await opened(w);
      assert.equal(await frame.locator('textarea#task').inputValue(), `${TASK}\nIn two languages.`);
      await frame.getByLabel('Plans to compare').fill('2');
      await frame.locator('.bounds summary').click();
      await frame.getByLabel('Roles of agents').fill('Writer, Cook');
      await frame.getByLabel('Agents at most').fill('2');
      await frame.getByLabel('Tasks at most').fill('7');
      await w.shot('plan-bounds');
      await frame.getByRole('button', { name: 'Plan', exact: true }).click();
      await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Ask the Model', exact: true }).click();
      await w.until(() => model.held === 2, 'the model is not asked for two plans');
      assert.match(asked, /Write at most 7 tasks\. The agents have these roles and no others: Writer, Cook\. Use at most 2 agents\./);
      assert.equal(await frame.getByRole('button', { name: 'Plan', exact: true }).isDisabled(), true);
      await w.shot('plan-going-on');
      await frame.getByRole('button', { name: 'Stop' }).click();
      await frame.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
      assert.equal(await frame.getByRole('button', { name: 'Plan', exact: true }).isDisabled(), false);
      assert.equal(await frame.locator('article').count(), 0);
      model.release();
    });

    it('tells what an endpoint refuses', async () => {
      const w = workbench();
      const model = await endpoint();
      model.refuse(`No such model ${HOSTILE}`);
      const frame = await opened(w);
      await frame.locator('textarea#task').fill('Another task.');
      await frame.getByRole('button', { name: 'Plan', exact: true }).click();
      await w.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Ask the Model', exact: true }).click();
      await frame.locator('.problem:visible, .refused').first().waitFor();
      assert.equal(await frame.locator('main img, form img').count(), 0);
      await w.shot('plan-refused');
      model.refuse(undefined);
    });
  },
  { profile: 'endpoint', shared: true },
);

describe('Planning without a model', (workbench) => {
  it('shows the plan of the embedded model, and says that it is not a real one', async () => {
    const w = workbench();
    const frame = await opened(w);
    await frame.locator('form .about', { hasText: 'which is not a real model' }).waitFor();
    await frame.locator('textarea#task').fill(TASK);
    await frame.getByRole('button', { name: 'Plan', exact: true }).click();
    await frame.locator('article').first().waitFor();
    await w.until(async () => (await frame.locator(SVG).count()) === 1, 'there is no diagram');
    assert.match(await frame.locator('footer').innerText(), /embedded offline model plans, which is not a real model.*Planned by the embedded model/is);
    await w.shot('plan-offline');
  });
}, { shared: true });
