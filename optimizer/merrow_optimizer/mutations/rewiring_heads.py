"""Edges that lead to another node than before: a value goes to another port, a case of a Decision to another node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM
from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.wiring.wires import joined
from merrow_optimizer.mutations.change import Grid, Joined, Mutation, Proposal
from merrow_optimizer.mutations.operator_names import REWIRING
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.wiring import case_label, fits, names_bulk, port_label, source_of

_READERS = ("operator", "output")


class Head(NamedTuple):
    """A port that an edge may lead to; None for a case edge that gives order alone."""

    node: TypedNode
    port: InputPort | None


def proposals(original: Original) -> Sequence[Proposal]:
    """For each edge that brings a value every port that is open for one more, for each case edge every node."""
    nodes, edges = original.typed.nodes, [edge for edge in original.typed.edges if _may_move(edge)]
    plain = [edge for edge in edges if edge.source.kind != "decision"]
    valued = [edge for edge in edges if edge.source.kind == "decision" and edge.source.placement.signature.has_value]
    bare = [edge for edge in edges if edge.source.kind == "decision" and not edge.source.placement.signature.has_value]
    return Joined(
        *(
            Grid(lead_to, original, some, [head for node in nodes for head in heads(some[0], node)])
            for some in (plain, valued, bare)
            if some
        )
    )


def _may_move(edge: TypedEdge) -> bool:
    if edge.target.kind not in _READERS:
        return False
    return edge.source.kind == "decision" or (edge.source.kind in ("input", "operator") and len(edge.feeds) == 1)


def heads(edge: TypedEdge, node: TypedNode) -> Iterator[Head]:
    """Where at a node an edge may lead: to the ports that are open for a value; for a case to the node itself or, with the
    Decision's value, to the port that edges go to without a word.
    """
    if not _may_move(edge) or node.kind not in _READERS:
        return
    if edge.source.kind != "decision":
        yield from (Head(node, port) for port in node.input_ports if is_open(node, port))
        return
    if node.kind == "operator":
        yield Head(node, None)
    if not edge.source.placement.signature.has_value:
        return
    if node.kind == "output":
        yield from (Head(node, port) for port in node.input_ports)
    elif node.spec is not None and node.spec.through is not None:
        yield Head(node, node.spec.through)


def is_open(node: TypedNode, port: InputPort) -> bool:
    """Whether one more edge may feed a port."""
    return port.many or (port.name not in node.placement.fed and port.name not in node.resolution.literals)


def lead_to(original: Original, edge: TypedEdge, head: Head) -> Mutation:
    """Let an edge lead to another port, of another node or of its own."""
    node, port = head
    name = None if port is None else port.name
    what = edge.source.id if edge.case_label is None else f"case {edge.case_label} of {edge.source.id}"
    start = None if edge.source.kind == "decision" else source_of(edge).output
    label = _label(original, edge, node, name, start)
    silent = name is None or node.spec is None or (name == node.spec.bulk and edge.source.kind != "decision")
    where = node.id if silent else f"`{name}` of {node.id}"
    old = edge.target.id if edge.target is not node else f"its `{edge.port}`" if edge.port else "it alone"
    return Mutation(
        original,
        REWIRING,
        f"Lead {what if start is None else f'{start} of {what}'} to {where} instead of {old}",
        edge.flow.range,
        edges={edge.flow.index: (WantedEdge(edge.source.id, node.id, label, kept=True),)},
        content=("head", edge.source.id, edge.output, edge.case_label, edge.target.id, edge.port, node.id, name),
        doubts=tuple(_doubts(original, edge, head)),
    )


def _label(original: Original, edge: TypedEdge, node: TypedNode, port: str | None, start: str | None) -> str | None:
    if edge.source.kind == "decision":
        return case_label(edge, node.spec, port)
    named = names_bulk(original)
    return joined(start, port_label(node.spec, port or "", edge.type, named=named, original=original))


def _doubts(original: Original, edge: TypedEdge, head: Head) -> Iterator[tuple[str, str]]:
    node, port = head
    source, target = edge.source, edge.target
    if node is target and (port is None or port.name == edge.port) and (port is None) == (edge.port is None):
        yield "bridge", f"The edge leads to {node.id} already."
    elif node is not target and original.reaches(node, source):
        yield "bridge", f"{source.id} comes after {node.id}: they would wait for each other."
    left = [other for other in target.incoming if other is not edge]
    if node is not target and not left:
        yield "bridge", f"Nothing would lead to {target.id} any more."
    elif _starves(target, edge):
        yield "sides", f"Nothing else feeds `{edge.port}` of {target.id}, which it needs."
    if port is None:
        return
    given = source.placement.signature.value if source.kind == "decision" else edge.type
    if given == ENTRY_POINT != port.item or (given == PROBLEM != port.item and not _takes_work(node, port)):
        yield "kinds", f"`{port.name}` of {node.id} is for something else than what {source.id} gives."
    elif not fits(original, given, port):
        yield "types", f"`{port.name}` of {node.id} takes {port.item}; {source.id} gives {given}."


def _takes_work(node: TypedNode, port: InputPort) -> bool:
    """Whether a port takes what its node works on, which may be the task itself."""
    return node.spec is None or node.spec.through is port


def _starves(target: TypedNode, edge: TypedEdge) -> bool:
    """Whether an edge is all that feeds a port that must be fed."""
    return edge.port in target.placement.required and len(target.sources(edge.port or "")) < 2
