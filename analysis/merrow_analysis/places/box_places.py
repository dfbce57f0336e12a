"""Where a subgraph is named, titled and described in the file."""

from __future__ import annotations

from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.text import Range


def range_of(group: Subgraph) -> Range:
    """The id of a subgraph where it opens; its whole line where it has none."""
    block = group.block
    if group.name is not None:
        return block.range(group.name.span)
    start = len(block.text) - len(block.text.lstrip())
    return block.range((start, len(block.text.rstrip())))
