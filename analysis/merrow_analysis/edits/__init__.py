r"""Changes of a workflow written as minimal edits of its text, in the file's own habits.

Everything that changes a text writes it here: fixes, mutations, refactorings. `change.GraphChange` says what becomes of the
graph, in ids, operators, values and labels. Two things are made of it, and a property test holds them together:

- `delta.delta_of` makes the graph `Delta`, of which the graph that follows is inferred before a word is written;
- `write.write` makes the edits of the text.

A `Delta` itself can't be written: it consists of records of statements, read or made up, and no longer says which edge keeps
its arrow, which values a new node has, or beside which node it belongs. Ids, values and labels are also all that a
suggestion from outside can give.

Smaller writers, which need no graph, are for fixes that know their place already: `lines`, `labels`, `classes`, `parameters`,
`front_matter`. `write` uses the same ones. Edits say ``\n`` where a line ends, unless they are made of a `WorkflowText`,
which writes the file's own line endings.
"""
