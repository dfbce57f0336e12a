"""What an author probably meant to connect: the edges that may close a gap in a workflow, the likeliest first.

A gap is a port that nothing feeds (`sources`), a node that nothing follows (`takers`), or a case of a Decision that leads nowhere
(`cases`). Messages, fixes and repair all ask here, so that they propose the same edge. Nothing here writes or proves a change:
`Wire.change` is one of the graph, which `edits` writes and the fixes prove.
"""
