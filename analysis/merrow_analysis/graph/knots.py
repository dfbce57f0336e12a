"""Cycles as people draw loops: entered at one node, with arrows back to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from merrow_analysis.graph.bare.reach import components
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.records import EdgeRecord


class Knot(NamedTuple):
    """Nodes that wait for each other, by id, and the edges without which they would not, in the order of the text."""

    nodes: tuple[str, ...]
    back: tuple[EdgeRecord, ...]


def read_knot(graph: Graph, component: Sequence[int], marked: Collection[EdgeRecord] = ()) -> Knot | None:
    """What a strongly connected component would be as a Loop.

    The arrows back are the ``marked`` edges in it, else those to the one node at which it is entered. None where an input or
    output is in it, where it has no such node, or where it is a cycle without these edges, too.
    """
    records = [graph.records[node] for node in component]
    nodes = tuple([record.id for record in records if record is not None])
    inside, shape = set(component), graph.shape
    if not inside.isdisjoint(shape.boundary):
        return None
    handles = graph.handles
    edges = [edge for name in nodes for edge in graph.out_of(name) if handles[edge.target] in inside]
    back = [edge for edge in edges if edge in marked]
    if not back:
        entries = [node for node in component if any(source not in inside for source in shape.before[node])]
        if len(entries) != 1:
            return None
        back = [edge for edge in edges if handles[edge.target] == entries[0]]
    gone = set(back)
    following: dict[int, list[int]] = {node: [] for node in component}
    for edge in edges:
        if edge not in gone:
            following[handles[edge.source]].append(handles[edge.target])
    if any(len(part) > 1 or part[0] in following[part[0]] for part in components(following, component)):
        return None
    return Knot(nodes, tuple(sorted(back, key=graph.chart.numbers.__getitem__)))
