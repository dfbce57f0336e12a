"""The program that a run executes: a checked graph with its prompts, parameters and inputs, and where it was read from."""
