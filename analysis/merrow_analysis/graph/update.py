"""Bring a typed graph up to date after an edit that `merrow_analysis.graph.patch` took over into its flowchart.

Nodes neither came nor went, so their numbers stay. The graph is changed in place, as the flowchart is; where an edit's
effect goes too far nothing is done, and `merrow_analysis.graph.typed.build` must type the flowchart anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, count
from operator import is_not
from typing import Literal

from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.graph.shape import Shape
from merrow_analysis.graph.typed import TypedCache, read_node, special_nodes, written


def relabel(graph: TypedGraph, names: Iterable[str], cache: TypedCache) -> bool:
    """Take over new labels or metadata of some nodes into a typed graph where they change nothing but parameters.

    False, with nothing done, where the nodes' operators, ports or places in the graph may have changed, or anything is
    wrong with them: then `build` must type the flowchart anew. ``cache`` is the one that the graph was built with.
    """
    special = special_nodes(graph.settings)
    changes: list[tuple[int, Resolution]] = []
    for name in names:
        node = graph.flow.nodes[name]
        role, key = written(node, special)
        if role is not None or sum(mention.vertex.shape is not None for mention in node.mentions) > 1:
            return False
        resolution, _ = cache.resolution(key)
        if not _same_ports(graph.resolutions[node.index], resolution):
            return False
        changes.append((node.index, resolution))
    for index, resolution in changes:
        graph.resolutions[index] = resolution
        graph.nodes[index].resolution = resolution
    return True


def _same_ports(old: Resolution, new: Resolution) -> bool:
    if old.problems or new.problems or old.kind != new.kind or old.spec is not new.spec or old.claims != new.claims:
        return False
    return (old.declared, old.samples, old.literals, old.expression) == (
        new.declared,
        new.samples,
        new.literals,
        new.expression,
    )


Updated = Literal["edges", "nodes"]
"""What an update found changed: edges alone, or also what nodes are."""


def update(graph: TypedGraph, names: Iterable[str], cache: TypedCache) -> Updated | None:
    """Type a graph anew where only what is written at some nodes, and edges between them, changed since it was typed.

    ``cache`` is the one that the graph was built with. None, with nothing done, where that was not its last use, or
    where a node became an input or output, or is none any more.
    """
    flow, settings = graph.flow, graph.settings
    cache.prepare(settings)
    last = cache.last_pass(graph)
    if last is None:
        return None
    special, inputs, outputs = special_nodes(settings), set(graph.shape.inputs), set(graph.shape.outputs)
    read = []
    names = dict.fromkeys(names)
    for name in names:
        node = flow.nodes[name]
        role, resolution, fact, conflicting = read_node(node, flow, settings, special, cache)
        if (role == "input") != (node.index in inputs) or (role == "output") != (node.index in outputs):
            return None
        read.append((node.index, resolution, fact, conflicting))
    facts, labels = last.facts.copy(), last.labels
    updated: Updated = "edges"
    for index, resolution, fact, conflicting in read:
        if graph.resolutions[index] is not resolution or conflicting or index in graph.conflicts:
            updated = "nodes"
        graph.resolutions[index], facts[index] = resolution, fact
        graph.conflicts.pop(index, None)
        if conflicting:
            graph.conflicts[index] = conflicting
    stale = {index for index, *_ in read}
    edges = _carrying(graph, names)
    start, old_end, new_end = _difference(graph.flow_edges, edges)
    gone, come = graph.flow_edges[start:old_end], edges[start:new_end]
    if gone or come:
        labels = labels.copy()
        for index in {edge.target.index for edge in (*gone, *come)}:
            into = graph.flow_nodes[index].incoming
            labels[index] = [
                None if (label := edge.arrow.label) is None else label.text for edge in into if not edge.carries_nothing
            ]
            stale.add(index)
        graph.shape = _shape(graph, gone, come, start)
        graph.flow_edges = edges
    if graph.shape.order is last.shape.order or not (graph.shape.cycles or last.shape.cycles):
        placements, changed = cache.place_again(graph.shape, labels, facts, stale)
    else:
        placements = cache.place(graph.shape, labels, facts)
        changed = set(compress(count(), map(is_not, graph.placements, placements)))
    graph.placements = placements
    graph.renew(changed.union(index for index, *_ in read), slice(start, old_end), come)
    return updated


def _carrying(graph: TypedGraph, names: Iterable[str]) -> list[FlowEdge]:
    """The edges that carry something, as they are now that those of these nodes changed."""
    flow = graph.flow
    if any(edge.carries_nothing for name in names for edge in flow.nodes[name].outgoing):
        graph.has_hidden_edges = True
    if graph.has_hidden_edges:
        return [edge for edge in flow.edges if not edge.carries_nothing]
    return flow.edges.copy()


def _difference(old: Sequence[FlowEdge], new: Sequence[FlowEdge]) -> tuple[int, int, int]:
    """Where two lists begin to differ, and where in each of them they are the same again."""
    shared = min(len(old), len(new))
    start = next(compress(count(), map(is_not, old, new)), shared)
    same = next(compress(count(), map(is_not, reversed(old), reversed(new))), shared)
    same = min(same, shared - start)
    return start, len(old) - same, len(new) - same


def _shape(graph: TypedGraph, gone: Sequence[FlowEdge], come: Sequence[FlowEdge], start: int) -> Shape:
    """The shape of a graph after these edges came in the place, from ``start`` on, of others."""
    nodes = graph.flow_nodes
    return graph.shape.with_edges(
        start,
        start + len(gone),
        [(edge.source.index, edge.target.index) for edge in come],
        {
            index: [edge.target.index for edge in nodes[index].outgoing if not edge.carries_nothing]
            for index in {edge.source.index for edge in (*gone, *come)}
        },
        {
            index: [edge.source.index for edge in nodes[index].incoming if not edge.carries_nothing]
            for index in {edge.target.index for edge in (*gone, *come)}
        },
    )
