"""Cases of a workflow: what ``NAME.cases.yaml`` beside it says, and what is wrong with that."""

ENDING = ".cases.yaml"
