"""What edges into one node bring together, whatever the Decisions choose."""

from __future__ import annotations

from merrow_analysis.graph.bare.conditions import NEVER, Condition
from merrow_analysis.graph.liveness.combinations import Combinations
from merrow_analysis.graph.nodes import TypedEdge, TypedNode


def fed_at_once(node: TypedNode, port: str, combinations: Combinations) -> tuple[TypedEdge, TypedEdge] | None:
    """The first two edges that can feed a port at once, or an edge and itself where it brings two values; None where none do.

    Raises `TooManyCombinationsError`.
    """
    before: list[TypedEdge] = []
    so_far: Condition = NEVER
    for edge in node.sources(port):
        for _, brings, several in combinations.brings_each(edge, port):
            if before and combinations.together(so_far, brings):
                other = next(
                    earlier for earlier in before if combinations.together(combinations.brings(earlier, port), brings)
                )
                return other, edge
            if several != NEVER:
                return edge, edge
            before.append(edge)
            so_far = combinations.either(so_far, brings)
    return None


def voices_alone(node: TypedNode, port: str, combinations: Combinations) -> list[TypedNode] | None:
    """The sources of an ensemble's ``port``, no two of which are present together; None where two are, where one brings a
    list, or where an edge into the node isn't understood. Raises `TooManyCombinationsError`.
    """
    if any(finding.kind in ("unknown-port", "ambiguous") for finding in node.placement.findings):
        return None
    conditions: dict[tuple[TypedNode, int | None], Condition] = {}
    first: tuple[TypedNode, int | None] | None = None
    for edge in node.incoming:
        fed = next((feed for feed in edge.feeds if feed.port == port), None)
        if fed is None:
            continue
        type_ = fed.type
        if type_ is not None and type_.startswith("list["):
            return None
        if type_ is None and "samples" in edge.source.resolution.parameters:
            return None
        for passed, brings, several in combinations.brings_each(edge, port):
            if several != NEVER:
                return None
            voice = (edge.source, passed)
            first = first or voice
            if voice != first and combinations.together(conditions[first], brings):
                # The most common case: there is no need to look at all the others.
                return None
            conditions[voice] = combinations.either(conditions.get(voice, NEVER), brings)
    so_far: Condition = NEVER
    for condition in conditions.values():
        if combinations.together(so_far, condition):
            return None
        so_far = combinations.either(so_far, condition)
    return [source for source, _ in conditions]
