"""Cases of a workflow: the contents of ``NAME.cases.yaml`` beside it, and the problems in that file."""

ENDING = ".cases.yaml"
