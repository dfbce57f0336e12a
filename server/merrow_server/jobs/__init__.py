"""Jobs of a language server: the thread that works on them, and its inputs and outputs.

A job is a run, an evaluation, a search, a plan, suggestions or cases; `desk` is the frame of all of them, and a module for each
kind has what differs. `worker`, `orders`, `ticket` and `keys` are for both sides; everything else belongs to the thread and
imports the runtime, which nothing imports before something is run.
"""
