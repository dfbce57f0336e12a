"""Questions to people: those that a run waits for, and the one way to answer them, whichever door that is done at."""
