"""A person's approval put on an edge: a Human that is given the text, edits it if need be, and passes it on."""

from __future__ import annotations

from merrow_analysis.definitions.operators import HUMAN
from merrow_analysis.definitions.types import CODE, TEXT, WORKFLOW
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge
from merrow_analysis.fresh_ids import FreshIds
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph

_QUESTION = "Is this right? Change what is not."


def may_ask(graph: TypedGraph) -> bool:
    """Whether a Human can be written into a workflow."""
    return not graph.core.reading.drawn and graph.operators.named(HUMAN.name) is HUMAN


def carries_text(graph: TypedGraph, edge: TypedEdge, *, of_inputs: bool = False) -> bool:
    """Whether an edge brings one text that a step gave, inside its boxes, such that its target needs it as much as a person's
    answer. With ``of_inputs`` an input of the workflow may give it.
    """
    if edge.implied or edge.word is not None or edge.left or edge.entered or len(edge.feeds) != 1:
        return False
    type_ = edge.feeds[0].type
    if type_ is None or not graph.types.fits(type_, TEXT):
        return False
    if any(kind in graph.types.ancestors(type_) for kind in (CODE, WORKFLOW)):
        return False
    if edge.source.kind != "decision":
        return edge.source.kind == "operator" or (of_inputs and edge.source.kind == "input")
    # A case opens its target; through a person it does so only if the target can't start without the value.
    port = next((port for port in edge.target.input_ports if port.name == edge.port), None)
    return port is not None and port.required and not port.many


def approval(graph: TypedGraph, edge: TypedEdge) -> GraphChange:
    """The change that puts a person on an edge that `carries_text`."""
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
