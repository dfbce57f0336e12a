/** A first workflow: two solvers in parallel and a vote. */
export const starter = `---
title: Solve a word problem
workflow:
  prompts:
    simple_solver: |
      Solve the problem step by step.
---
flowchart TD
    PROBLEM([Problem])
    SOLVE["Custom<br/>(role: simple_solver)"]
    COMPUTE["Programmer<br/>(analysis: 'Calculate step by step')"]
    VOTE["ScEnsemble<br/>"]
    RETURN([Return the answer])

    PROBLEM -->|input| SOLVE
    PROBLEM -->|problem| COMPUTE
    SOLVE --> VOTE
    COMPUTE --> VOTE
    VOTE --> RETURN

    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px;
    classDef ProgrammerOp fill:#f9c2c2,stroke:#c23737,stroke-width:2px;
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37,stroke-width:2px;
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px;
    class SOLVE CustomOp
    class COMPUTE ProgrammerOp
    class VOTE ScEnsembleOp
    class PROBLEM,RETURN Interface
`;
