"""Which nodes of a graph may have findings, carried along from one graph to the next."""

from __future__ import annotations

from collections.abc import Collection

from merrow_analysis.graph.model import Graph, Marks, conflicting
from merrow_analysis.graph.placing.placement import Placement
from merrow_analysis.graph.resolve import Resolution


def marked(marks: Marks, graph: Graph, nodes: Collection[int]) -> Marks:
    """The marks where ``nodes`` may be something else; the same object where they are the same."""
    if len(nodes) > len(graph.records) // 2:
        return _marked_cold(graph)
    kinds = [set(kind) for kind in marks]
    found, problems, gathering, decisions, conflicts, plain, templates, agents, validated = kinds
    for node in nodes:
        record, resolution, placement = graph.records[node], graph.resolutions[node], graph.placements[node]
        for numbers, holds in (
            (found, placement.findings),
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
    return Marks(*(kept if kind == kept else frozenset(kind) for kind, kept in zip(kinds, marks, strict=True)))


def _marked_cold(graph: Graph) -> Marks:
    resolutions, placements = graph.resolutions, graph.placements
    return Marks(
        frozenset(node for node, placement in enumerate(placements) if placement.findings),
        frozenset(node for node, resolution in enumerate(resolutions) if resolution.problems),
        frozenset(
            node
            for node, (resolution, placement) in enumerate(zip(resolutions, placements, strict=True))
            if _gathers(resolution, placement)
        ),
        frozenset(node for node, resolution in enumerate(resolutions) if resolution.kind == "decision"),
        frozenset(
            node
            for node, record in enumerate(graph.records)
            if record is not None and len(record.mentions) > 1 and conflicting(record)
        ),
        frozenset(node for node, resolution in enumerate(resolutions) if resolution.plain is not None),
        *(
            frozenset(node for node, resolution in enumerate(resolutions) if key in resolution.parameters)
            for key in ("template", "agent", "validate")
        ),
    )


def _gathers(resolution: Resolution, placement: Placement) -> bool:
    """Whether what feeds a node must be looked at together."""
    return bool(placement.crowded) or (resolution.spec is not None and resolution.spec.sources > 1)
