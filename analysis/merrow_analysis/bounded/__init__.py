"""The one rule for foreign text: what a file, a model, a data set or a server wrote is computed on within bounds only.

Each module here owns a kind of computing whose cost a text decides: expressions, regular expressions, JSON Schemas and glob
patterns. All of them keep the bound by construction: an allow-list of cheap operations, each paid for from an `Allowance` before
it is made, so that they may be used in a process that serves. What can't be bounded so (the libraries for mathematics, the code
of a validator, Python's own patterns with a metric) runs in a process of its own, with limits.
"""
