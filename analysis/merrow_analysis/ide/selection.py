"""The node that a selection means."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.lookup import spot, vertex_at
from merrow_analysis.syntax.tree import Chain
from merrow_analysis.text import Range


def selected_node(analysis: Analysis, place: Range) -> TypedNode | None:
    """The node at the beginning of a selection; None where there is none, or in a flowchart that is no workflow."""
    here = spot(analysis, place.start)
    if analysis.typed is None or here is None:
        return None
    chain = here.statement
    vertex = vertex_at(chain, here.offset) if isinstance(chain, Chain) else None
    return None if vertex is None else analysis.typed.by_id.get(vertex.name.text)
