// The preview: draws the diagram, follows both ways, keeps the last good picture.
import { Preview, assert, describe, it } from '../support/harness.mjs';

const FLOW = `flowchart TD
    PROBLEM([Problem])
    SOLVE["Custom<br/>(role: simple_solver_1)"]
    CODE["Programmer<br/>(analysis: 'Calculate step by step')"]
    ENSEMBLE["ScEnsemble<br/>"]
    RETURN([Return response & cost])
    PROBLEM -->|input| SOLVE --> ENSEMBLE
    PROBLEM -->|problem| CODE --> ENSEMBLE
    ENSEMBLE --> RETURN
    class PROBLEM,RETURN Interface
    class SOLVE CustomOp
    class CODE ProgrammerOp
    class ENSEMBLE ScEnsembleOp
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef ProgrammerOp fill:#f9c2c2,stroke:#c23737
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37
`;

describe('Preview', (workbench) => {
  it('draws the flowchart beside its text', async () => {
    const w = workbench();
    await w.open('flow.mmd', FLOW);
    const preview = await Preview.open(w);
    await preview.shows('PROBLEM', 'SOLVE', 'CODE', 'ENSEMBLE', 'RETURN');
    await w.shot('preview');
  });
});
