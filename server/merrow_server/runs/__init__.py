"""Runs of a language server: the thread that works on them, and its inputs and outputs.

`worker`, `orders` and `keys` are for both sides; everything else belongs to the thread and imports the runtime, which nothing
imports before something is run.
"""
