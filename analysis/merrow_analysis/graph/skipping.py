"""What may be skipped in a frame: by what Decisions choose in there, or because a node fails with ``on_error: skip``."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode


def on_error_of(node: TypedNode, usual: str | None) -> str:
    """What becomes of a failure of a node; ``usual`` is what the workflow says."""
    said = node.resolution.parameters.get("on_error")
    return str(said.value) if said is not None else usual or "fail"


def failing_away(graph: TypedGraph, members: Iterable[str], usual: str | None) -> dict[str, str]:
    """Those of some nodes that a failure may skip, by id, with the node or composite that says ``on_error: skip``."""
    inside = set(members)
    found: dict[str, str] = {}
    for index in graph.order:
        node = graph.node(index)
        if node.id not in inside:
            continue
        cause = _fails(graph, node, inside, usual) or _lacks(node, found)
        if cause is not None:
            found[node.id] = cause
    return found


def _fails(graph: TypedGraph, node: TypedNode, inside: set[str], usual: str | None) -> str | None:
    if node.kind in ("operator", "decision") and on_error_of(node, usual) == "skip":
        return node.id
    for name in graph.composites.around(node.id):
        box = graph.composites.boxes[name]
        said = box.parameters.get("on_error")
        # A composite that is skipped as a whole; of a Map that leaves items out the others remain.
        if box.kind == "loop" and said is not None and said.value == "skip" and inside.issuperset(box.nodes):
            return name
    return None


def _lacks(node: TypedNode, found: dict[str, str]) -> str | None:
    """The cause by which a node may be skipped since all that feeds a port that it needs is."""
    for port in node.placement.required:
        causes = [found.get(edge.source.id) for edge in node.sources(port)]
        if causes and None not in causes:
            return causes[0]
    gates = [edge for edge in node.incoming if _is_gate(edge)]
    causes = [found.get(edge.source.id) for edge in gates]
    return causes[0] if causes and None not in causes else None


def _is_gate(edge: TypedEdge) -> bool:
    return edge.source.kind == "decision" and edge.out_of is None
