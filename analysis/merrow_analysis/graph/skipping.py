"""What may be skipped in a frame: by what Decisions choose in there, or because a node fails with ``on_error: skip``."""

from __future__ import annotations

from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.resolve import Resolution


def on_error_of(node: TypedNode, usual: str | None) -> str:
    """What becomes of a failure of a node; ``usual`` is what the workflow says. A node that is skipped where its result is not
    valid may be skipped.
    """
    if skips_invalid(node.resolution):
        return "skip"
    parameter = node.resolution.parameters.get("on_error")
    return str(parameter.value) if parameter is not None else usual or "fail"


def skips_invalid(resolution: Resolution) -> bool:
    """Whether a node is skipped where its result is not valid."""
    parameter = resolution.parameters.get("on_invalid")
    return parameter is not None and parameter.value == "skip" and "validate" in resolution.parameters


def skipping_key(graph: TypedGraph, name: str) -> str:
    """The key by which a node, or a Loop, is skipped where it fails."""
    node = graph.by_id.get(name)
    return "on_invalid" if node is not None and skips_invalid(node.resolution) else "on_error"


def failing_away(graph: TypedGraph, box: str, usual: str | None) -> dict[str, str]:
    """Those of a composite's nodes that a failure in it may skip, by id, with the node or Loop that says so: by
    ``on_error: skip``, or ``on_invalid: skip``.

    Where the composite itself is skipped there is nothing left that could miss them.
    """
    composites, handles, places = graph.composites, graph.core.handles, graph.shape.places
    members = [graph.by_id[name] for name in composites.members(box) if name in handles]
    skipped = {name: _skipped_whole(graph, name, box) for name in composites.within(box)}
    failing: dict[str, str] = {}
    for node in sorted(members, key=lambda node: places[node.index]):
        fails = node.kind in ("operator", "decision") and on_error_of(node, usual) == "skip"
        cause = node.id if fails else skipped[composites.inside[node.id]] or _lacks(node, failing)
        if cause is not None:
            failing[node.id] = cause
    return failing


def any_skips(graph: TypedGraph, usual: str | None) -> bool:
    """Whether anything at all says ``on_error: skip``, or ``on_invalid: skip``; nodes that say the same share
    what is known of them.
    """
    resolutions = {id(resolution): resolution for resolution in graph.resolutions}.values()
    if any(map(skips_invalid, resolutions)):
        return True
    parameters = [box.parameters.get("on_error") for box in graph.composites]
    parameters += [resolution.parameters.get("on_error") for resolution in resolutions]
    return usual == "skip" or any(parameter is not None and parameter.value == "skip" for parameter in parameters)


def _skipped_whole(graph: TypedGraph, inner: str, box: str) -> str | None:
    """The Loop within ``box``, around or at an inner composite, that is skipped where it fails; Maps only leave items out."""
    for name in graph.composites.chain(inner):
        if name == box:
            return None
        loop = graph.composites.boxes[name]
        parameter = loop.parameters.get("on_error")
        if loop.kind == "loop" and parameter is not None and parameter.value == "skip":
            return name
    return None


def _lacks(node: TypedNode, failing: dict[str, str]) -> str | None:
    """The cause by which a node may be skipped since all that feeds a port that it needs is."""
    for port in node.placement.required:
        causes = [failing.get(edge.source.id) for edge in node.sources(port)]
        if causes and None not in causes:
            return causes[0]
    gates = [edge for edge in node.incoming if _is_gate(edge)]
    causes = [failing.get(edge.source.id) for edge in gates]
    return causes[0] if causes and None not in causes else None


def _is_gate(edge: TypedEdge) -> bool:
    return edge.source.kind == "decision" and edge.out_of is None
