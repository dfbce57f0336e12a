// The way to a first run against an endpoint: trust by the dialog, packages set up on the way; then a server that dies in a run.
import { assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const FLOW = `---
workflow:
  prompts:
    plan: Plan the journey.
    act: Make the journey.
---
flowchart LR
    PROBLEM([Problem]):::Interface --> PLAN["Custom<br/>(role: plan)"]:::CustomOp
    PLAN --> ACT["Custom<br/>(role: act)"]:::CustomOp
    ACT --> RETURN([Answer]):::Interface
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
`;

describe(
  'The first day',
  (workbench) => {
    it('trust is granted by the dialog, the packages are set up on the way, and the run goes on by itself', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      const before = model.questions.length;
      await w.open('journey.mmd', FLOW);
      await w.lens('subtask');
      assert.equal(await page.locator('.codelens-decoration a', { hasText: 'Run' }).count(), 0);
      await w.command('Workspaces: Manage Workspace Trust');
      await page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).first().click();
      await page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor({ state: 'detached' });
      await w.open('journey.mmd');
      await w.lens('Run');
      await w.shot('trusted');
      await w.commandAnswered('Merrow: Run Workflow', 'Run journey.mmd', 'From Rome to Paris');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.filter({ hasText: 'Set up model access?' }).waitFor();
      await w.shot('setup-consent');
      await dialog.getByRole('button', { name: 'Install', exact: true }).click();
      await dialog.filter({ hasText: 'Run journey.mmd?' }).waitFor();
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      await w.runEnded('journey.mmd');
      await w.shot('setup-run');
      assert.equal(model.questions.length - before, 2);
    });

    it('a server that dies in a run leaves a run that can be resumed, and nothing is paid twice', async () => {
      const w = workbench();
      const { page, server } = w;
      const model = await endpoint();
      const [plans, acts] = [model.asked('Plan the journey'), model.asked('Make the journey')];
      model.hold((messages) => messages[0].content.includes('Make the journey'));
      await w.open('journey.mmd');
      const before = await w.shownRun();
      await w.commandAnswered('Merrow: Run Workflow with Other Inputs', 'Run journey.mmd', 'From Rome to Oslo');
      await w.until(() => model.held === 1, 'the second node asks nothing');
      const [pid] = server.processes('start_server.py');
      process.kill(pid, 'SIGKILL');
      await page.locator('.statusbar-item', { hasText: /Merrow (?:failed|interrupted)/ }).waitFor();
      const notification = await w.notification('journey.mmd');
      await w.shot('server-died');
      assert.match(await notification.innerText(), /interrupted.*kept/is);
      model.release();
      await w.answerNotification('journey.mmd', 'Resume');
      await w.runEnded('journey.mmd', before);
      await w.shot('server-died-resumed');
      // What had finished is not asked again; the question that was under way is the only one that is.
      assert.deepEqual([model.asked('Plan the journey') - plans, model.asked('Make the journey') - acts], [1, 2]);
    });
  },
  { profile: 'firstDay' },
);
