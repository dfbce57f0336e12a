r"""Changes of a workflow written as minimal edits of its text, in the file's own style.

Everything that changes a text writes it here: fixes, mutations, refactorings. `change.GraphChange` describes a change of the
graph in terms of ids, operators, values and labels. Two things are derived from it, and a property test checks that they agree:

- `delta.delta_of` makes the graph `Delta`, from which the resulting graph is inferred before any text is written;
- `write.write` makes the edits of the text.

A `Delta` itself can't be written: it consists of records of statements, read or constructed, and no longer says which edge
keeps its arrow, which values a new node has, or beside which node it belongs. Ids, values and labels are also all that a
suggestion from outside can provide.

Smaller writers, which need no graph, are for fixes that already know their place: `lines`, `labels`, `classes`, `parameters`,
`front_matter`. `write` uses the same ones. Edits say ``\n`` where a line ends, unless they are made of a `WorkflowText`,
which writes the file's own line endings.
"""
