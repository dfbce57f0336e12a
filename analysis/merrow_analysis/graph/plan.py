"""What a typed graph's nodes wait for, and what follows for every combination of cases.

The plan is made together with the symbolic answer, for which edges count as the other branches of a merge depends
on which can be live together with a case (`LiveNode.others`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from merrow_analysis.graph.conditions import ALWAYS, LARGEST, NEVER, Condition, TooManyCombinationsError
from merrow_analysis.graph.liveness import AllCases, Chosen, Feed, Liveness, LiveNode, spread
from merrow_analysis.graph.placement import PortFeed

if TYPE_CHECKING:
    from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode


@dataclass(slots=True, eq=False)
class Combinations:
    """What runs under which cases. ``undecided`` is the handle of the node at which the cases became too many, else
    None.

    ``live`` is None in a graph without Decisions, where every node always runs, and where there are too many cases.
    ``waiting`` says by handle what each node waits for. ``reused`` says that conditions of earlier graphs are kept along;
    then ``settled`` are the nodes that were looked at again, None where all were.
    """

    order: Sequence[int] = ()
    waiting: dict[int, LiveNode] = field(default_factory=dict)
    cases: AllCases | None = None
    live: Liveness[Condition] | None = None
    undecided: int | None = None
    reused: bool = False
    settled: Sequence[int] | None = None
    _plan: list[LiveNode] | None = None

    @property
    def plan(self) -> list[LiveNode]:
        """What each node waits for, in topological order; empty where ``live`` is None."""
        if self._plan is None:
            self._plan = [self.waiting[index] for index in self.order] if self.waiting else []
        return self._plan

    @property
    def overflowed(self) -> bool:
        """Whether conditions became too many that might not be, were those of earlier graphs forgotten."""
        return self.reused and self.cases is not None and self.cases.store.left < 0

    def runs(self, node: TypedNode) -> Condition:
        return ALWAYS if self.live is None else self.live.runs.get(node.index, ALWAYS)

    def brings(self, edge: TypedEdge, port: str) -> Condition:
        """When an edge brings a value to a port of its target. Raises `TooManyCombinationsError`."""
        return ALWAYS if self.live is None else self.live.any_alive(feeds_of(edge, port))

    def brings_each(self, edge: TypedEdge, port: str) -> list[tuple[int | None, Condition]]:
        """When an edge brings each of its values to a port, by `Feed.passed`. Raises `TooManyCombinationsError`."""
        if self.live is None:
            return [(None, ALWAYS)]
        return [(feed.passed, self.live.alive(feed)) for feed in feeds_of(edge, port)]

    def together(self, first: Condition, second: Condition) -> bool:
        """Whether both can hold at once. Raises `TooManyCombinationsError`."""
        if self.cases is None:
            return first != NEVER and second != NEVER
        return self.cases.both(first, second) != NEVER

    def either(self, first: Condition, second: Condition) -> Condition:
        return max(first, second) if self.cases is None else self.cases.either(first, second)


def order_of(edge: TypedEdge) -> Feed:
    """The order that an edge brings, whatever else it does."""
    return Feed(edge.source.index, edge.case if edge.source.kind == "decision" else None)


def feeds_of(edge: TypedEdge, port: str) -> tuple[Feed, ...]:
    """What an edge brings to a port: one value, or several that an asking Decision passes on."""
    source = edge.source
    if source.kind != "decision":
        return (Feed(source.index),)
    if source.placement.signature.passes is not None:
        return tuple(
            Feed(source.index, edge.case, carries=True, passed=feed.passed) for feed in edge.feeds if feed.port == port
        )
    # A port that a Decision without a value should feed has an error of its own, and counts as fed.
    return (Feed(source.index, edge.case, carries=source.placement.signature.has_value),)


def _feeds(node: TypedNode, port: str) -> tuple[Feed, ...]:
    return tuple(feed for edge in node.sources(port) for feed in feeds_of(edge, port))


def passes(node: TypedNode) -> Iterator[tuple[TypedEdge, PortFeed]]:
    """What arrives at an asking Decision, in the order in which it passes it on."""
    return ((edge, feed) for edge in node.incoming for feed in edge.feeds)


def waiting_for(node: TypedNode, live: Liveness[Condition]) -> LiveNode:
    """What ``node`` waits for; ``live`` says what its sources do."""
    alone = _waiting_alone(node)
    return _with_others(node, alone, live) if alone.gates else alone


def _waiting_alone(node: TypedNode) -> LiveNode:
    """What ``node`` waits for, without the other branches of a merge."""
    if node.kind == "input":
        return LiveNode(node.index)
    gates = tuple(order_of(edge) for edge in node.incoming if edge.source.kind == "decision")
    if node.kind == "unknown":
        plain = tuple(order_of(edge) for edge in node.incoming if edge.source.kind != "decision")
        return LiveNode(node.index, (plain,) if plain and not gates else (), gates)
    # A port that nothing feeds has an error of its own, or a parameter's value.
    required = tuple(feeds for port in node.placement.required if (feeds := _feeds(node, port)))
    if node.cases is None:
        return LiveNode(node.index, required, gates)
    passed: tuple[Feed, ...] = ()
    if node.asks:
        passed = tuple(_feed_of(edge, feed) for edge, feed in passes(node))
    return LiveNode(node.index, required, gates, value=_feeds(node, "value"), cases=len(node.cases.keys), passes=passed)


def _feed_of(edge: TypedEdge, feed: PortFeed) -> Feed:
    if edge.source.kind != "decision":
        return Feed(edge.source.index)
    return Feed(edge.source.index, edge.case, edge.source.placement.signature.has_value, feed.passed)


def combinations(graph: TypedGraph, largest: int = LARGEST) -> Combinations:
    """Work out what runs under which cases, for all combinations at once. Never raises."""
    if not graph.decisions:
        return Combinations()
    decisions = _decisions(graph)
    algebra = AllCases(decisions, largest)
    live: Liveness[Condition] = Liveness(algebra, {}, {})
    waiting: dict[int, LiveNode] = {}
    for index in graph.order:
        try:
            node = waiting_for(graph.node(index), live)
            live.settle(node)
        except TooManyCombinationsError:
            return Combinations(undecided=index)
        waiting[index] = node
    return Combinations(graph.order, waiting, algebra, live)


_MOST_KEPT = LARGEST // 10
"""Conditions of earlier graphs that are kept along at most."""


def combinations_after(graph: TypedGraph, earlier: Combinations, touched: Collection[int]) -> Combinations | None:
    """The combinations of a graph that differs at ``touched`` nodes from the one that ``earlier`` are of, which stay as they are.

    None where they must be worked out from nothing. The answer is that of `combinations`, which makes no condition that isn't
    made here.
    """
    live, cases, shape = earlier.live, earlier.cases, graph.shape
    if live is None or cases is None or shape.cycles or shape.wrong or not graph.marks.decisions:
        return None
    decisions = _decisions(graph)
    if (list(decisions), list(decisions.values())) != (cases.decisions, list(cases.store.sizes)):
        return None
    if cases.store.left < LARGEST - _MOST_KEPT:
        return None
    records = graph.core.records
    known = Liveness(cases, live.runs.copy(), live.values.copy(), live.passed.copy())
    waiting = earlier.waiting.copy()
    stale: set[int] = set()
    for index in touched:
        if records[index] is None:
            for memory in (known.runs, known.values, known.passed, waiting):
                memory.pop(index, None)
        else:
            stale.add(index)
            stale.update(shape.following[index])
    places, last_place = shape.places, -1
    settled: list[int] = []
    queue = sorted(places[index] for index in stale)
    while queue:
        place = heappop(queue)
        if place == last_place:
            continue
        last_place, index = place, shape.order[place]
        settled.append(index)
        before = known.runs.get(index), known.values.pop(index, None), known.passed.pop(index, None)
        try:
            waiting[index] = waiting_for(graph.node(index), known)
            known.settle(waiting[index])
        except TooManyCombinationsError:
            return None
        if (known.runs[index], known.values.get(index), known.passed.get(index)) != before:
            for target in shape.following[index]:
                heappush(queue, places[target])
    return Combinations(shape.order, waiting, cases, known, reused=True, settled=settled)


def _decisions(graph: TypedGraph) -> dict[int, int]:
    """How many cases each Decision has that has any, in topological order."""
    places = graph.shape.places
    return {
        index: len(cases.keys)
        for index in sorted(graph.marks.decisions, key=places.__getitem__)
        if (cases := graph.node(index).cases) is not None and cases.keys
    }


def _with_others(node: TypedNode, waiting: LiveNode, live: Liveness[Condition]) -> LiveNode:
    taken = live.any_taken(waiting.gates)
    others = tuple(
        feed
        for edge in node.incoming
        if edge.source.kind != "decision" and edge.source.index in live.runs
        for feed in (order_of(edge),)
        if live.algebra.both(live.alive(feed), taken) == NEVER
    )
    return LiveNode(
        waiting.index, waiting.required, waiting.gates, others, waiting.value, waiting.cases, waiting.passes
    )


@dataclass(slots=True, eq=False)
class LiveState:
    """Where one run stands, given what its Decisions have chosen so far."""

    graph: TypedGraph
    _live: Liveness[bool | None]

    def runs(self, node: TypedNode) -> bool | None:
        """True: it runs or ran; False: it is skipped; None: some Decision before it hasn't chosen yet."""
        return self._live.runs.get(node.index, True)

    def sources(self, node: TypedNode, port: str) -> Iterator[TypedEdge]:
        """The edges whose values are for this port, in prompt order; only to be asked when nothing before ``node``
        is open.
        """
        return (edge for edge in node.sources(port) if self._live.any_alive(feeds_of(edge, port)))

    def arrived(self, node: TypedNode) -> Iterator[tuple[int, TypedEdge, PortFeed]]:
        """What reached an asking Decision, with the numbers by which it passes it on."""
        return (
            (number, edge, feed)
            for number, (edge, feed) in enumerate(passes(node))
            if self._live.alive(_feed_of(edge, feed))
        )


def live_state(graph: TypedGraph, chosen: Mapping[str, int], skipped: Collection[str] = ()) -> LiveState:
    """Say what runs and what is skipped, for a scheduler.

    ``chosen`` has the case number (`Cases.choose`) of each Decision that has chosen, by node id; ``skipped`` the
    ids of nodes that failed and count as skipped (``on_error: skip``). A run asks again whenever one of them grows.
    Only for graphs without errors.
    """
    plan = graph.combinations.plan or [_waiting_alone(graph.node(index)) for index in graph.order]
    by_id = graph.by_id
    cases = {by_id[node].index: case for node, case in chosen.items()}
    return LiveState(graph, spread(plan, Chosen(cases, {by_id[node].index for node in skipped})))
