// Restricted Mode: nothing is run, whichever way one asks, and the journal stays as it is.
import { assert, describe, it } from '../../support/harness.mjs';

const TEXT = `flowchart LR
    PROBLEM([P]):::Interface --> A["Custom<br/>(role: solver)"]:::CustomOp --> RETURN([R]):::Interface
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
`;

describe(
  'Runs in Restricted Mode',
  (workbench) => {
    it('are offered nowhere', async () => {
      const w = workbench();
      await w.open('restricted-run.mmd', TEXT);
      await w.lens('subtask');
      assert.equal(await w.page.locator('.codelens-decoration a', { hasText: 'Run' }).count(), 0);
      for (const title of ['Merrow: Run Workflow', 'Merrow: Dry Run', 'Merrow: Run from Here', 'Merrow: Resume Run']) {
        assert.equal(await w.offers(title), false, title);
      }
      assert.equal(await w.offers('Merrow: Safe Mutations'), true);
      await w.shot('run-restricted');
    });
  },
  { profile: 'restricted' },
);
