"""What follows a node."""

from __future__ import annotations

from merrow_analysis.graph.nodes import TypedGraph


def behind(graph: TypedGraph, node: int) -> frozenset[int]:
    """A node and all nodes that follow it, by handle."""
    following = graph.shape.following
    reached = {node}
    pending = [node]
    while pending:
        new = [target for target in following[pending.pop()] if target not in reached]
        reached.update(new)
        pending += new
    return frozenset(reached)
