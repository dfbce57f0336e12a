"""What may feed a port that nothing feeds."""

from __future__ import annotations

import re

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import BOOL, ENTRY_POINT, Type, is_variable
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.measures.siblings import edges_into_siblings, siblings_before
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.placing.arrived import is_odd_result
from merrow_analysis.wiring.wires import OWN_KIND, NodeOutput, are_together, is_loose, near

_WORD = re.compile(r"[^\W\d_]+")


def sources(graph: TypedGraph, node: TypedNode, port: InputPort) -> list[NodeOutput]:
    """What may feed a port without waiting for its node, the likeliest first.

    In this order it counts: an input of the port's own kind; that the source feeds no other port of the node; that it is
    called like the port; what feeds the steps beside it; that it lies in the same Loop or Map; that nothing else reads it; an
    output of the port's name, then of its very type; of these the nearest before the node, then others.
    """
    shape = graph.shape
    after = reach(shape.following, [node.index])
    before = reach(shape.before, [node.index])
    own, wanted = OWN_KIND.get(port.name), port.item if port.many else port.type
    usual = {edge.source: number for number, edge in enumerate(edges_into_siblings(node))}
    beside = set(siblings_before(node))
    elsewhere = {edge.source for edge in node.incoming if edge.port != port.name and edge.feeds}
    again = {edge.target for edge in node.again_out}
    decides = node.kind == "decision" and port.name == "when"
    ranked: list[tuple[tuple[int | bool, ...], NodeOutput]] = []
    for giver in near(graph, node, usual):
        if after[giver.index] or giver.kind not in ("input", "operator") or giver.implied or giver is node:
            continue
        for number, (name, type_) in enumerate(giver.outputs.items()):
            if type_ is None or not (is_variable(wanted) or graph.types.fits(type_, wanted)):
                continue
            if (type_ == ENTRY_POINT and wanted != ENTRY_POINT) or (not decides and _is_aside(graph, type_, wanted)):
                continue
            steps = 0 if is_variable(wanted) else graph.types.distance(type_, wanted) or 0
            key = (
                type_ != own,
                giver in elsewhere and own is None,
                not _is_called(giver, port.name),
                decides and type_ != BOOL,
                usual.get(giver, len(usual)),
                giver in beside,
                giver not in again,
                not are_together(graph, giver, node),
                not is_loose(giver),
                name != port.name or giver.kind == "input",
                giver.kind == "input" and own is None,
                steps,
                number,
                not before[giver.index],
                -shape.places[giver.index],
            )
            ranked.append((key, NodeOutput(giver, None if number == 0 else name, type_)))
    if own is not None and any(source.type == own for _, source in ranked):
        ranked = [pair for pair in ranked if pair[1].type == own]
    return [source for _, source in sorted(ranked, key=lambda pair: pair[0])]


def givers_of(graph: TypedGraph, node: TypedNode, output: str) -> list[TypedNode]:
    """The steps that have an output of a name and don't wait for a node: those that nothing reads first, then the nearest."""
    shape = graph.shape
    after = reach(shape.following, [node.index])
    givers = [
        giver
        for giver in near(graph, node, ())
        if giver.kind == "operator" and giver is not node and not after[giver.index] and output in giver.outputs
    ]
    return sorted(givers, key=lambda giver: (not is_loose(giver), -shape.places[giver.index]))


def _is_called(giver: TypedNode, port: str) -> bool:
    """Whether the id of a node is the name of a port, in whatever case."""
    return [word.casefold() for word in _WORD.findall(giver.id)] == _WORD.findall(port.casefold())


def _is_aside(graph: TypedGraph, given: Type, wanted: Type) -> bool:
    """Whether a value is a verdict or feedback, and the port is for something else."""
    return is_odd_result(given, graph.types) and given != wanted
