"""Which nodes of a graph may have findings, carried along from one graph to the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Generic, TypeVar

from merrow_analysis.graph.model import Graph, NodeMarks, conflicting
from merrow_analysis.graph.placing.placement import Placement
from merrow_analysis.graph.resolve import Resolution


def marked(marks: NodeMarks, graph: Graph, nodes: Collection[int]) -> NodeMarks:
    """The marks where ``nodes`` may be something else; the same object where they are the same."""
    if len(nodes) > len(graph.records) // 2:
        return _marked_cold(graph)
    kinds = [set(kind) for kind in marks]
    findings, problems, gathering, decisions, conflicts, plain, templates, agents, validated = kinds
    for node in nodes:
        record, resolution, placement = graph.records[node], graph.resolutions[node], graph.placements[node]
        for numbers, holds in (
            (findings, placement.findings),
            (problems, resolution.problems),
            (gathering, _gathers(resolution, placement)),
            (decisions, resolution.kind == "decision"),
            (conflicts, record is not None and len(record.mentions) > 1 and conflicting(record)),
            (plain, resolution.plain is not None),
            (templates, "template" in resolution.parameters),
            (agents, "agent" in resolution.parameters),
            (validated, "validate" in resolution.parameters),
        ):
            if holds and record is not None:
                numbers.add(node)
            else:
                numbers.discard(node)
    if all(kind == kept for kind, kept in zip(kinds, marks, strict=True)):
        return marks
    return NodeMarks(*(kept if kind == kept else frozenset(kind) for kind, kept in zip(kinds, marks, strict=True)))


def _marked_cold(graph: Graph) -> NodeMarks:
    # Nodes that say the same share what is known of them, and there is seldom anything to mark.
    resolutions, placements = _NodeKinds(graph.resolutions), _NodeKinds(graph.placements)
    return NodeMarks(
        placements.which(lambda placement: bool(placement.findings)),
        resolutions.which(lambda resolution: bool(resolution.problems)),
        placements.which(lambda placement: bool(placement.crowded)) | resolutions.which(_takes_several),
        resolutions.which(lambda resolution: resolution.kind == "decision"),
        frozenset(
            node
            for node, record in enumerate(graph.records)
            if record is not None and len(record.mentions) > 1 and conflicting(record)
        ),
        resolutions.which(lambda resolution: resolution.plain is not None),
        resolutions.which(lambda resolution: "template" in resolution.parameters),
        resolutions.which(lambda resolution: "agent" in resolution.parameters),
        resolutions.which(lambda resolution: "validate" in resolution.parameters),
    )


_What = TypeVar("_What")


class _NodeKinds(Generic[_What]):
    """What nodes are, by handle."""

    def __init__(self, nodes: Sequence[_What]) -> None:
        self.nodes, self.distinct = nodes, set(nodes)

    def which(self, holds: Callable[[_What], bool]) -> frozenset[int]:
        """The handles of the nodes of which something holds."""
        wanted = {what for what in self.distinct if holds(what)}
        if not wanted:
            return frozenset()
        return frozenset([node for node, what in enumerate(self.nodes) if what in wanted])


def _gathers(resolution: Resolution, placement: Placement) -> bool:
    """Whether what feeds a node must be looked at together."""
    return bool(placement.crowded) or _takes_several(resolution)


def _takes_several(resolution: Resolution) -> bool:
    return resolution.spec is not None and resolution.spec.sources > 1
