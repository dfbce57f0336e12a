"""What is the same for all runs of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from merrow_analysis.graph.liveness import Feed
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placement import PortFeed
from merrow_analysis.graph.plan import feed_of
from merrow_runtime.program.titles import title_of


class Source(NamedTuple):
    """What an edge brings to a port. ``output`` is None for the first one that its node has, ``title`` what people call it.

    ``keys`` lead to the field of a record that the edge brings. ``kind`` is the one that a case edge is for, out of a Decision
    that passes a union on; empty for its `else`, None everywhere else.
    """

    handle: int
    node: str
    output: str | None
    type: str
    title: str
    feed: Feed
    keys: tuple[str, ...] = ()
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Lists by handle; a handle that no node has any more stays empty.

    ``waiting`` counts the nodes that must be settled before each, ``following`` are those that wait for it. ``fed`` has for
    each port that edges feed what they bring, in prompt order. ``passed`` has for each Decision that asks all that arrives
    there, in the order of `merrow_analysis.graph.plan.passes`. ``titles`` are what people call the nodes.
    """

    waiting: list[int]
    following: list[list[int]]
    fed: list[list[tuple[str, list[Source]]]]
    passed: dict[int, list[Source]]
    titles: list[str]


_LAYOUTS: WeakKeyDictionary[TypedGraph, Layout] = WeakKeyDictionary()


def layout_of(graph: TypedGraph) -> Layout:
    """The layout of a graph, made once; it holds nothing of the graph."""
    known = _LAYOUTS.get(graph)
    if known is None:
        known = _LAYOUTS[graph] = _lay_out(graph)
    return known


def _lay_out(graph: TypedGraph) -> Layout:
    shape, count = graph.shape, len(graph.shape.ranks)
    titles = [""] * count
    for node in graph.nodes:
        titles[node.index] = title_of(node)
    fed: list[list[tuple[str, list[Source]]]] = [[]] * count
    for node in graph.nodes:
        fed[node.index] = _fed(node, titles)
    return Layout(
        [len(set(row)) for row in shape.before],
        [list(dict.fromkeys(row)) for row in shape.following],
        fed,
        {
            node.index: [_source(edge, feed, titles) for edge in node.incoming for feed in edge.feeds]
            for node in graph.decisions
            if node.asks
        },
        titles,
    )


def _fed(node: TypedNode, titles: list[str]) -> list[tuple[str, list[Source]]]:
    ports: dict[str, list[Source]] = {}
    for edge in node.incoming:
        for feed in edge.feeds:
            ports.setdefault(feed.port, []).append(_source(edge, feed, titles))
    return list(ports.items())


def _source(edge: TypedEdge, feed: PortFeed, titles: list[str]) -> Source:
    source = edge.source
    output, kind = feed.output, None
    keys: tuple[str, ...] = ()
    signature = source.placement.signature
    if signature.decision:
        output, keys = None, () if output is None else tuple(output.split("."))
        kind = (signature.kind_of(edge.case_label) or "") if signature.kinds else None
    elif output is not None and (signature.fields or "." in output):
        keys = tuple(output.split("."))
        output, keys = (keys[0], keys[1:]) if keys[0] in source.own_outputs else (None, keys)
    type_, title = feed.type or "Any", titles[source.index]
    return Source(source.index, source.id, output, type_, title, feed_of(edge, feed), keys, kind)
