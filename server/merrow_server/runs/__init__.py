"""Runs of a language server: the thread that works on them, and what goes into it and comes out of it.

`worker`, `orders` and `keys` are for both sides; all else belongs to the thread and brings the runtime with it, which nothing
imports before something is run.
"""
