// Loops and Maps in the preview: which turn runs, how many there were, the picker of turns and items.
import { Preview, assert, describe, it } from '../../support/harness.mjs';
import { endpoint } from '../../support/endpoint.mjs';

const FLOW = `---
title: Polish each line, three times
workflow:
  prompts:
    split: |
      Write three lines on the subject, one line each.
    polish: |
      Make this line better.
    join: |
      Put the lines together.
---
flowchart TD
    PROBLEM([Subject]):::Interface
    SPLIT["Custom<br/>(role: split, returns: 'list[Text]')"]
    subgraph LINES["Map (max: 9)"]
        subgraph ROUNDS["Loop (max: 3)"]
            POLISH["Custom<br/>(role: polish)"]
        end
    end
    JOIN["Custom<br/>(role: join)"]
    RETURN([Text]):::Interface
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:input| POLISH
    POLISH -.->|again:input| POLISH
    POLISH -->|input| JOIN
    JOIN --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px
    %% A class of the author's own, with a name that a drawing might use itself.
    classDef title stroke-dasharray:4
    class LINES title
`;

describe('Loops and Maps', (workbench) => {
  it('a run says how many turns and items there were, and a node shows any of them', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('polish.mmd', FLOW);
    await w.lens('Run');
    const preview = await Preview.open(w);
    await preview.shows('PROBLEM', 'SPLIT', 'POLISH', 'JOIN', 'RETURN');
    await page.keyboard.press('Control+1');
    await w.commandAnswered('Merrow: Run Workflow', 'PROBLEM (', 'The sea');
    await w.runEnded('polish.mmd');
    const badges = preview.frame.locator('.badge');
    await w.until(async () => (await badges.allTextContents()).sort().join().match(/^\d+ items?,3 turns$/) !== null, 'the boxes do not say how many turns and items there were');
    await w.shot('boxes-finished');
    await preview.click('POLISH');
    const panel = await w.frame('main header h1');
    await panel.locator('h1', { hasText: 'POLISH' }).waitFor();
    const visits = panel.locator('select[data-act=visit] option');
    await w.until(async () => (await visits.count()) >= 3, 'the panel offers no turns');
    await w.shot('boxes-node');
  });
}, { shared: true });

const NESTED = `---
workflow:
  prompts:
    polish: Make this line better.
    judge: Say what is missing.
---
flowchart TD
    PROBLEM([Line]):::Interface
    subgraph ROUNDS["Loop (max: 2)"]
        subgraph TURNS["Loop (max: 3)"]
            POLISH["Custom<br/>(role: polish)"]
        end
        JUDGE["Custom<br/>(role: judge)"]
    end
    RETURN([Better line]):::Interface
    PROBLEM -->|input| POLISH
    POLISH -.->|again:input| POLISH
    POLISH -->|input| JUDGE
    JUDGE -.->|again:input| POLISH
    JUDGE --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px
`;

describe(
  'A Loop in a Loop that is stopped',
  (workbench) => {
    it('shows how far it came', async () => {
      const w = workbench();
      const { page } = w;
      const model = await endpoint();
      model.hold(() => model.asked('Make this line better') === 5);
      await w.open('nested.mmd', NESTED);
      await w.lens('Run');
      await w.commandAnswered('Merrow: Run Workflow', 'Run nested.mmd', 'The sea is blue.');
      const dialog = page.locator('.monaco-dialog-box');
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      const preview = new Preview(w, await w.frame('body[data-engine] .viewport'));
      await w.until(() => model.held === 1, 'the second turn of the second round asks nothing');
      const badges = preview.frame.locator('.badge');
      const shown = async () => (await badges.allTextContents()).sort().join();
      await w.until(async () => (await shown()) === 'turn 2 of 2,turn 2 of 3', 'the boxes do not say which turns run');
      for (const turn of ['turn 2 of 2', 'turn 2 of 3']) await page.locator('.monaco-editor .view-lines', { hasText: turn }).waitFor();
      await w.shot('boxes-running');
      await w.command('Merrow: Stop Run');
      await page.locator('.statusbar-item', { hasText: /Merrow stopped/ }).waitFor();
      await preview.node('POLISH').locator('.marks > .state.running').waitFor({ state: 'detached' });
      await w.shot('boxes-stopped');
      model.release();
    });
  },
  { profile: 'endpoint', shared: true },
);
