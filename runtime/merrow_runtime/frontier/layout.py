"""What is the same for all runs of a graph: what each node is fed by, and the part of the graph that each frame has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from merrow_analysis.graph.boxes.composites import Composite, LoopSettings, MapSettings, loop_settings, map_settings
from merrow_analysis.graph.liveness.live_nodes import Feed
from merrow_analysis.graph.liveness.waiting import feed_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.placement import PortFeed
from merrow_runtime.frontier.parts import Part, parts_of
from merrow_runtime.program.titles import title_of


class EdgeSource(NamedTuple):
    """What an edge brings to a port. ``output`` is None for the first one that its node has, ``title`` what people call it.

    ``keys`` lead to the field of a record that the edge brings. ``kind`` is the one that a case edge is for, out of a Decision
    that passes a union on; empty for its `else`, None everywhere else.

    ``number`` tells it from all others of the graph. ``each`` is the Map whose items it takes out of a list; ``raised`` how
    many Maps it leaves; ``first`` says that it gives way to what `again` edges bring.
    """

    number: int
    handle: int
    node: str
    output: str | None
    type: str
    title: str
    feed: Feed
    each: str | None = None
    raised: int = 0
    first: bool = False
    keys: tuple[str, ...] = ()
    kind: str | None = None


class Port(NamedTuple):
    """What feeds a port of a node, in prompt order; ``again`` are its `again` edges. ``many`` says that it takes several
    values.
    """

    name: str
    sources: list[EdgeSource]
    again: list[EdgeSource]
    many: bool


class Exit(NamedTuple):
    """What leaves a Map; ``depth`` is how many Maps inside of that it has left before."""

    source: EdgeSource
    depth: int


class Again(NamedTuple):
    """A port that `again` edges of one composite feed."""

    handle: int
    port: str
    many: bool
    sources: list[EdgeSource]


@dataclass(frozen=True, slots=True)
class Box:
    """A composite as it runs. ``part`` is what each of its frames has; ``members`` are the handles of all nodes inside,
    sources first.

    ``again`` are the ports that its `again` edges feed, ``each`` the lists that a Map is given, ``exits`` what leaves a Map.
    """

    composite: Composite
    part: Part
    members: list[int]
    settings: LoopSettings | MapSettings
    again: list[Again] = field(default_factory=list)
    each: list[EdgeSource] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.composite.id


@dataclass(frozen=True, slots=True)
class Layout:
    """Lists by handle; a handle that no node has any more stays empty.

    ``fed`` has for each port that edges feed what they bring. ``passed`` has for each Decision that asks all that arrives
    there, as its `TypedNode.passes` has it. ``titles`` are what people call the nodes.
    ``whole`` is what the frame of the whole workflow has, ``boxes`` are the composites.
    """

    fed: list[list[Port]]
    passed: dict[int, list[list[EdgeSource]]]
    titles: list[str]
    whole: Part
    boxes: Mapping[str, Box]


_LAYOUTS: WeakKeyDictionary[TypedGraph, Layout] = WeakKeyDictionary()


def layout_of(graph: TypedGraph) -> Layout:
    """The layout of a graph, made once; it holds nothing of the graph."""
    known = _LAYOUTS.get(graph)
    if known is None:
        known = _LAYOUTS[graph] = _lay_out(graph)
    return known


def _lay_out(graph: TypedGraph) -> Layout:
    count = len(graph.shape.ranks)
    titles = [""] * count
    for node in graph.nodes:
        titles[node.index] = title_of(node)
    parts = parts_of(graph)
    boxes = {box: _box(graph, box, part) for box, part in parts.items() if box is not None}
    sources = _Sources(titles, boxes)
    fed: list[list[Port]] = [[]] * count
    for node in graph.nodes:
        fed[node.index] = _fed(graph, node, sources)
    passed = {
        node.index: [[sources.of(edge, feed) for edge, feed in ones] for ones in node.passes]
        for node in graph.decisions
        if node.asks
    }
    return Layout(fed, passed, titles, parts[None], boxes)


def _box(graph: TypedGraph, name: str, part: Part) -> Box:
    composite = graph.composites.boxes[name]
    members = sorted(part.unit, key=graph.shape.places.__getitem__)
    settings = loop_settings(composite) if composite.kind == "loop" else map_settings(composite)
    return Box(composite, part, members, settings)


@dataclass(slots=True, eq=False)
class _Sources:
    """Makes the sources of a graph, and notes which composites they concern."""

    titles: Sequence[str]
    boxes: Mapping[str, Box]
    count: int = 0
    again: dict[tuple[str | None, int, str], Again] = field(default_factory=dict)

    def of(self, edge: TypedEdge, feed: PortFeed) -> EdgeSource:
        source = edge.source
        output, keys, kind = _parts(edge, feed)
        lowered, raised, is_first = (
            (edge.lowered, edge.raised, edge.word == "first") if self.boxes else (None, 0, False)
        )
        self.count += 1
        made = EdgeSource(
            self.count,
            source.index,
            source.id,
            output,
            feed.type or "Any",
            self.titles[source.index],
            feed_of(edge, feed),
            lowered,
            raised,
            is_first,
            keys,
            kind,
        )
        if self.boxes:
            if lowered is not None:
                self.boxes[lowered].each.append(made)
            maps = [box for box in edge.left if self.boxes[box].composite.kind == "map"] if raised else []
            for depth, box in enumerate(maps):
                self.boxes[box].exits.append(Exit(made, depth))
        return made


def _fed(graph: TypedGraph, node: TypedNode, sources: _Sources) -> list[Port]:
    ports: dict[str, tuple[list[EdgeSource], list[EdgeSource]]] = {}
    for edge in node.incoming:
        for feed in edge.feeds:
            ports.setdefault(feed.port, ([], []))[0].append(sources.of(edge, feed))
    if not sources.boxes:
        return [Port(name, flat, again, many=False) for name, (flat, again) in ports.items()]
    several = {port.name for port in node.input_ports if port.many}
    for edge, feed in _again(node):
        made = sources.of(edge, feed)
        ports.setdefault(feed.port, ([], []))[1].append(made)
        scope = graph.composites.scope(edge.source.id, node.id)
        assert scope is not None  # noqa: S101 (the checker sees to it)
        known = sources.again.get((scope, node.index, feed.port))
        if known is None:
            known = sources.again[scope, node.index, feed.port] = Again(node.index, feed.port, feed.port in several, [])
            sources.boxes[scope].again.append(known)
        known.sources.append(made)
    return [Port(name, flat, again, name in several) for name, (flat, again) in ports.items()]


def _again(node: TypedNode) -> Iterator[tuple[TypedEdge, PortFeed]]:
    return ((edge, feed) for edge in node.again_in for feed in edge.feeds)


def _parts(edge: TypedEdge, feed: PortFeed) -> tuple[str | None, tuple[str, ...], str | None]:
    """The output that an edge starts at, and the ``keys`` and ``kind`` of its `EdgeSource`."""
    source, output = edge.source, feed.output
    signature = source.placement.signature
    if signature.decision:
        kind = (signature.kind_of(edge.case_label) or "") if signature.kinds else None
        return None, () if output is None else tuple(output.split(".")), kind
    if output is None:
        return None, (), None
    first, *keys = output.split(".")
    return (first, tuple(keys), None) if first in source.own_outputs else (None, (first, *keys), None)
