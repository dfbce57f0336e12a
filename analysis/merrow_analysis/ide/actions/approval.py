"""A person's approval put on an edge: a Human that is given the text, edits it if need be, and passes it on."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.edits.replacements import edits_of
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.write import write
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.ide.actions.actions import INSERT_APPROVAL, Action, Edits, Request, possible
from merrow_analysis.ide.cursor.selection import selection
from merrow_analysis.wiring.approvals import approval, carries_text, may_ask

_MOST_OFFERED = 3


def insert_approval(request: Request) -> Iterator[Action]:
    """Have a person see, and edit, the text that an edge brings, before it goes on."""
    analysis = request.analysis
    graph = analysis.typed
    if graph is None or not may_ask(graph):
        return
    edges = [edge for edge in selection(analysis, request.range).edges if carries_text(graph, edge)]
    for edge in edges[:_MOST_OFFERED]:
        title = f"Insert approval on {edge.source.id} -> {edge.target.id}"
        yield from possible(title, INSERT_APPROVAL, _edits(analysis, graph, edge))


def _edits(analysis: Analysis, graph: TypedGraph, edge: TypedEdge) -> Edits | None:
    change = approval(graph, edge)
    after = graph_after(change, graph)
    touched = [handle for handle in after.core.touched or () if after.core.records[handle] is not None]
    known = {node.id: len(node.placement.findings) for node in (edge.source, edge.target)}
    if any(len(after.placements[handle].findings) > known.get(after.node(handle).id, 0) for handle in touched):
        return None
    try:
        text = WorkflowText(analysis.diagram, graph)
        return edits_of(text.places, write(text, change))
    except ValueError:  # the text can't say it
        return None
