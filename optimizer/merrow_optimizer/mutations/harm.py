"""Whether a change of a sound workflow brings an error or a warning, by a look at the nodes that it touches."""

from __future__ import annotations

from collections import Counter

from merrow_analysis.graph.bare.conditions import ALWAYS, NEVER, TooManyCombinationsError
from merrow_analysis.graph.liveness.combinations import Combinations
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.together import fed_at_once, voices_alone


def brings_harm(before: TypedGraph, after: TypedGraph) -> bool | None:
    """Whether something is wrong with ``after`` that is not wrong with ``before``, of which it was inferred.

    Nothing may be wrong with ``before`` but what single nodes are fed. None where only a look at the whole graph tells.
    """
    touched = after.core.touched
    if touched is None:
        return None
    if after.cycles or after.shape.wrong:
        return True
    records, shape = after.core.records, after.shape
    for handle in touched:
        if records[handle] is None:
            continue
        kind = after.resolutions[handle].kind
        if kind == "unknown" and (handle >= len(before.resolutions) or before.resolutions[handle].kind != kind):
            return None
        if bool(shape.before[handle]) == (kind == "input") or bool(shape.following[handle]) == (kind == "output"):
            return True
        findings = after.placements[handle].findings
        if findings and _new_kinds(before, handle, [finding.kind for finding in findings]):
            return True
        if handle in shape.repeated and _repeats(after.node(handle)):
            return True
        if kind == "decision" and (cases := after.node(handle).cases) is not None and cases.problems:
            return True
    try:
        return _starves(after)
    except TooManyCombinationsError:
        return None


def _new_kinds(before: TypedGraph, handle: int, kinds: list[str]) -> bool:
    if handle >= len(before.placements) or before.core.records[handle] is None:
        return True
    return bool(Counter(kinds) - Counter(finding.kind for finding in before.placements[handle].findings))


def _starves(after: TypedGraph) -> bool:
    """Whether a port is fed twice at once, an ensemble lacks voices, or something stays empty in some case.

    Raises `TooManyCombinationsError`.
    """
    combinations = after.combinations
    if combinations.undecided is not None:
        raise TooManyCombinationsError
    if combinations.live is None:
        touched = after.core.touched or ()
        return any(
            _is_wrong(after.node(handle), combinations) for handle in after.marks.gathering.intersection(touched)
        )
    settled = combinations.settled
    nodes = [after.node(handle) for handle in (after.shape.order if settled is None else settled)]
    return any(_is_wrong(node, combinations) or _is_empty(node, combinations) for node in nodes)


def _is_empty(node: TypedNode, combinations: Combinations) -> bool:
    runs = combinations.runs(node)
    return runs == NEVER or (node.kind == "output" and runs != ALWAYS)


def _is_wrong(node: TypedNode, combinations: Combinations) -> bool:
    if any(fed_at_once(node, port, combinations) is not None for port in node.placement.crowded):
        return True
    spec = node.spec
    return spec is not None and spec.is_ensemble and voices_alone(node, spec.inputs[0].name, combinations) is not None


def _repeats(node: TypedNode) -> bool:
    """Whether two edges bring the same to the same port for several values, or give the same order."""
    ports = {port.name: port for port in node.input_ports}
    seen: set[object] = set()
    for edge in node.incoming:
        if not edge.feeds and not edge.order_only:
            continue
        key = (edge.source.id, edge.case, edge.feeds)
        if key in seen and not any(feed.port in ports and not ports[feed.port].many for feed in edge.feeds):
            return True
        seen.add(key)
    return False
