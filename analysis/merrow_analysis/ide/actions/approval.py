"""A person's approval put on an edge: a Human that is given the text, edits it if need be, and passes it on."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import HUMAN
from merrow_analysis.definitions.types import CODE, TEXT, WORKFLOW
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.edits.replacements import edits_of
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.write import write
from merrow_analysis.fresh_ids import FreshIds
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.ide.actions.actions import INSERT_APPROVAL, Action, Edits, Request, possible
from merrow_analysis.ide.cursor.selection import selection

_QUESTION = "Is this right? Change what is not."
_MOST_OFFERED = 3


def insert_approval(request: Request) -> Iterator[Action]:
    """Have a person see, and edit, the text that an edge brings, before it goes on."""
    analysis = request.analysis
    graph = analysis.typed
    if graph is None or graph.core.reading.drawn or graph.operators.named(HUMAN.name) is not HUMAN:
        return
    edges = [edge for edge in selection(analysis, request.range).edges if _carries_text(graph, edge)]
    for edge in edges[:_MOST_OFFERED]:
        title = f"Insert approval on {edge.source.id} -> {edge.target.id}"
        yield from possible(title, INSERT_APPROVAL, _edits(analysis, graph, edge))


def _carries_text(graph: TypedGraph, edge: TypedEdge) -> bool:
    """Whether an edge brings one text that a step gave, inside its boxes, such that its target needs it as much as a person's
    answer.
    """
    if edge.implied or edge.word is not None or edge.left or edge.entered or len(edge.feeds) != 1:
        return False
    type_ = edge.feeds[0].type
    if type_ is None or not graph.types.fits(type_, TEXT):
        return False
    if any(kind in graph.types.ancestors(type_) for kind in (CODE, WORKFLOW)):
        return False
    if edge.source.kind != "decision":
        return edge.source.kind == "operator"
    # A case opens its target; through a person it does so only if the target can't start without the value.
    port = next((port for port in edge.target.input_ports if port.name == edge.port), None)
    return port is not None and port.required and not port.many


def _edits(analysis: Analysis, graph: TypedGraph, edge: TypedEdge) -> Edits | None:
    change = _change(graph, edge)
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


def _change(graph: TypedGraph, edge: TypedEdge) -> GraphChange:
    flow = graph.flow
    taken = (*flow.nodes, *flow.subgraphs, *flow.edge_ids, *flow.class_defs)
    name = FreshIds(taken, str.casefold).new("APPROVE")
    type_ = edge.feeds[0].type
    promise = () if type_ is None or type_ == TEXT else (("returns", type_),)
    new = NewNode(name, HUMAN, edge.source.id, parameters=(("ask", _QUESTION), *promise))
    written = edge.placed.label
    before = [written.case, written.output, "draft"]
    into = WantedEdge(edge.source.id, name, ":".join(part for part in before if part), kept=True)
    # Beside others a port has to be named that was the only one that fitted.
    port = written.port or (edge.port if edge.inferred and edge.target.kind == "operator" else None)
    bulk = edge.target.spec is not None and port == edge.target.spec.bulk and written.port is None
    return GraphChange(
        added=(new,),
        edges={edge.flow.index: (into, WantedEdge(name, edge.target.id, None if bulk else port))},
    )
