"""What the nodes and Loops of a typed graph wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from merrow_analysis.graph.arrows.loops import freely_reached
from merrow_analysis.graph.bare.conditions import NEVER, Condition
from merrow_analysis.graph.boxes.composites import Border, Composite
from merrow_analysis.graph.boxes.edge_words import OVER, Word
from merrow_analysis.graph.decisions import Cases
from merrow_analysis.graph.liveness.live_nodes import Feed, LiveLoop, Liveness, LiveNode
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.placing.placement import Placement, PortFeed
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.graph.resolve import NodeKind


class PlanNode(Protocol):
    """What a plan asks of a node (`TypedNode`)."""

    id: str

    @property
    def ways(self) -> Sequence[PlanEdge]: ...
    @property
    def index(self) -> int: ...
    @property
    def kind(self) -> NodeKind: ...
    @property
    def placement(self) -> Placement: ...
    @property
    def cases(self) -> Cases | None: ...
    @property
    def asks(self) -> bool: ...
    @property
    def lists(self) -> Sequence[Sequence[PlanEdge]]: ...
    @property
    def incoming(self) -> Sequence[PlanEdge]: ...
    @property
    def passes(self) -> Sequence[Sequence[tuple[PlanEdge, PortFeed]]]: ...
    def sources(self, port: str) -> Sequence[PlanEdge]: ...


class PlanEdge(Protocol):
    """What a plan asks of an edge (`TypedEdge`)."""

    @property
    def record(self) -> EdgeRecord: ...
    @property
    def source(self) -> PlanNode: ...
    @property
    def target(self) -> PlanNode: ...
    @property
    def case(self) -> int | None: ...
    @property
    def feeds(self) -> Sequence[PortFeed]: ...
    @property
    def word(self) -> Word | None: ...
    @property
    def border(self) -> Border: ...
    @property
    def out_of(self) -> str | None: ...


class PlanGraph(Protocol):
    """What a plan asks of a graph (`TypedGraph`)."""

    @property
    def core(self) -> Graph: ...
    @property
    def again_records(self) -> Sequence[EdgeRecord]: ...
    @property
    def starts(self) -> Starts | None: ...
    @property
    def instead(self) -> Mapping[int, Mapping[int, int]]: ...
    @property
    def over(self) -> Sequence[PlanEdge]: ...
    @property
    def lists(self) -> Mapping[str, Sequence[PlanEdge]]: ...
    def node(self, index: int) -> PlanNode: ...
    def edge(self, record: EdgeRecord) -> PlanEdge: ...


def order_of(edge: PlanEdge) -> Feed:
    """The order that an edge brings, whatever else it does."""
    case = edge.case if edge.source.kind == "decision" else None
    return Feed(edge.source.index, case, over=_over(edge), out_of=edge.out_of)


def _over(edge: PlanEdge) -> str | None:
    """The Loop whose turns must have run out for an edge to be taken."""
    return edge.border.left[0] if edge.word == OVER else None


def is_gate(edge: PlanEdge) -> bool:
    """Whether an edge says that its target runs or not. What has left a Map is a plain list, and says nothing."""
    return (edge.source.kind == "decision" or edge.word == OVER) and edge.out_of is None


def feeds_of(edge: PlanEdge, port: str) -> tuple[Feed, ...]:
    """What an edge brings to a port: one value, or several that an asking Decision passes on."""
    source = edge.source
    if source.kind != "decision":
        return (order_of(edge),)
    if source.placement.signature.passes is not None:
        return tuple(feed_of(edge, feed) for feed in edge.feeds if feed.port == port)
    # A port that a Decision without a value should feed has an error of its own, and counts as fed.
    return (replace(order_of(edge), carries=source.placement.signature.has_value),)


def feed_of(edge: PlanEdge, feed: PortFeed) -> Feed:
    """One value on an edge."""
    source = edge.source
    if source.kind != "decision":
        return order_of(edge)
    return replace(order_of(edge), carries=source.placement.signature.has_value, passed=feed.passed)


def _feeds(node: PlanNode, port: str) -> tuple[Feed, ...]:
    return tuple(feed for edge in node.sources(port) for feed in feeds_of(edge, port))


def waiting_for(node: PlanNode, live: Liveness[Condition], starts: Starts | None = None) -> LiveNode:
    """What ``node`` waits for; ``live`` says what its sources do. ``starts`` says what starts a node in a graph that is read as
    people read drawings.
    """
    alone = waiting_alone(node, starts)
    return _with_others(node, alone, live) if alone.gates and starts is None else alone


class Starts(Protocol):
    """Which edges start a node (`merrow_analysis.graph.arrows.starting`)."""

    def starters(self, target: str, arriving: Sequence[EdgeRecord]) -> Sequence[EdgeRecord]: ...


def starting(edges: Sequence[PlanEdge], starts: Starts) -> list[PlanEdge]:
    """Those of the edges into one node that start it."""
    if not edges:
        return []
    chosen = set(starts.starters(edges[0].record.target, [edge.record for edge in edges]))
    return [edge for edge in edges if edge.record in chosen]


def waiting_alone(node: PlanNode, starts: Starts | None = None) -> LiveNode:
    """What ``node`` waits for, without the other branches of a merge where what starts it is not known."""
    if node.kind == "input":
        return LiveNode(node.index)
    gates = tuple([order_of(edge) for edge in node.incoming if is_gate(edge)])
    others: tuple[Feed, ...] = ()
    if starts is not None and gates:
        others = tuple([order_of(edge) for edge in starting(node.incoming, starts) if not is_gate(edge)])
    if node.kind == "unknown":
        plain = tuple([order_of(edge) for edge in node.incoming if not is_gate(edge)])
        return LiveNode(node.index, (plain,) if plain and not gates else (), gates)
    # A port that nothing feeds has an error of its own, or a parameter's value.
    required = tuple(feeds for port in node.placement.required if (feeds := _feeds(node, port)))
    # Without a list to take apart a Map has no items.
    required += tuple(tuple(feed for edge in edges for feed in _brought(edge)) for edges in node.lists)
    if node.cases is None:
        return LiveNode(node.index, required, gates, others)
    # In a drawing what asks has something whenever it runs.
    passed = (
        tuple([tuple([feed_of(*pair) for pair in ones]) for ones in node.passes]) if node.asks and not starts else ()
    )
    cases = len(node.cases.keys)
    return LiveNode(node.index, required, gates, others, value=_feeds(node, "value"), cases=cases, passes=passed)


def _brought(edge: PlanEdge) -> tuple[Feed, ...]:
    """All that an edge brings, or its order alone."""
    return tuple(feed_of(edge, feed) for feed in edge.feeds) or (order_of(edge),)


def live_loops(graph: PlanGraph) -> dict[str, LiveLoop]:
    """What says of each Loop whether it goes on."""
    boxes = graph.core.composites
    again: dict[str, list[Feed]] = {box.id: [] for box in boxes if box.kind == "loop"}
    leads_out: dict[str, list[Feed]] = {name: [] for name in again}
    back: dict[str, list[EdgeRecord]] = {name: [] for name in again}
    for record in graph.again_records:
        border = boxes.border(record.source, record.target)
        if border.scope in again:
            again[border.scope].append(_order_of_again(graph, record, border))
            back[border.scope].append(record)
    for edge in _ways_out(graph) if again else ():
        own = _over(edge)
        for box in edge.border.left:
            if boxes.boxes[box].kind == "map":
                break  # a plain list from here on
            if box != own:
                # Seen from the Loop, even where the edge leaves Maps around it.
                leads_out[box].append(replace(order_of(edge), out_of=None))
    return {
        name: LiveLoop(
            name,
            tuple(feeds),
            tuple(leads_out[name]),
            "until" in boxes.boxes[name].parameters,
            _firm(graph, boxes.boxes[name], back[name]) if boxes.boxes[name].implied else (),
        )
        for name, feeds in again.items()
    }


def _firm(graph: PlanGraph, box: Composite, back: Sequence[EdgeRecord]) -> tuple[Feed, ...]:
    """Those of the ``again`` edges ``back`` of a Loop without a box that a choice decides on: another turn begins where one is
    taken, although another choice leads out.
    """
    core = graph.core
    members = set(core.composites.members(box.id))
    own = [edge for name in members for edge in core.chart.outgoing.get(name, ()) if edge.target in members]
    asks = {name for name in members if core.resolutions[core.handles[name]].kind == "decision"}
    free = freely_reached(box.head or "", own, asks)
    return tuple([order_of(graph.edge(edge)) for edge in back if edge.source in asks or edge.source not in free])


def _order_of_again(graph: PlanGraph, record: EdgeRecord, border: Border) -> Feed:
    """`order_of` an ``again`` edge, of which there may be hundreds; without an object for each."""
    source = graph.core.handles[record.source]
    if graph.core.resolutions[source].kind == "decision":
        return order_of(graph.edge(record))
    maps = graph.core.composites.maps(border.left) if border.left else ()
    return Feed(source, None, out_of=maps[-1] if maps else None)


def _ways_out(graph: PlanGraph) -> list[PlanEdge]:
    """The edges of the flat picture that may end a Loop: those out of Decisions, and those with ``over``; in the text's order."""
    core = graph.core
    edges = {edge for name in _names(core) for edge in core.out_of(name)}
    edges.update(edge for edge, worded in core.words.items() if worded.word == OVER)
    return [graph.edge(record) for record in sorted(edges, key=core.chart.numbers.__getitem__)]


def _names(core: Graph) -> Iterator[str]:
    """The ids of the Decisions in composites."""
    for index in core.marks.decisions:
        record = core.records[index]
        if record is not None and record.id in core.composites.inside:
            yield record.id


def lists_taken_apart(graph: PlanGraph) -> dict[str, tuple[Feed, ...]]:
    """What brings the items of each Map."""
    return {name: tuple([feed for edge in edges for feed in _brought(edge)]) for name, edges in graph.lists.items()}


def _with_others(node: PlanNode, waiting: LiveNode, live: Liveness[Condition]) -> LiveNode:
    taken = live.any_taken(waiting.gates)
    others = tuple(
        feed
        for edge in node.incoming
        if not is_gate(edge) and edge.source.index in live.runs
        for feed in (order_of(edge),)
        if live.algebra.both(live.alive(feed), taken) == NEVER
    )
    return replace(waiting, others=others)
