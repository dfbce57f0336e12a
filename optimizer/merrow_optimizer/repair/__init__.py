"""Repair: the smallest set of edits that makes a workflow valid, found by search.

A step (`steps`) is one change: a fix that a rule offers, a change of the graph near a finding (`edge_steps`, `node_steps`), or a
statement that can't be read turned into a comment. `search.repair` combines steps until no error is left;
`remedies.remedies` tries single steps for one finding. Both take a text and a time limit and know neither the command line nor
editors. The cost of a step is defined in `weights`.
"""
