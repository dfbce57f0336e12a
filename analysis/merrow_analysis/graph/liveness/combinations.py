"""What follows for every combination of cases.

It is found together with what nodes wait for, because which edges count as the other branches of a merge depends on which
can be live together with a case (`LiveNode.others`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from merrow_analysis.graph.bare.conditions import ALWAYS, LARGEST, NEVER, Condition, TooManyCombinationsError
from merrow_analysis.graph.bare.shape import GraphShape
from merrow_analysis.graph.boxes.composites import NO_COMPOSITES, Composites
from merrow_analysis.graph.boxes.edge_words import OVER
from merrow_analysis.graph.liveness.frames import LiveOrder, live_order, loops_before, unit_order
from merrow_analysis.graph.liveness.live_nodes import AllCases, Feed, LiveLoop, Liveness, LiveNode
from merrow_analysis.graph.liveness.waiting import (
    PlanEdge,
    PlanGraph,
    PlanNode,
    feeds_of,
    lists_taken_apart,
    live_loops,
    order_of,
    waiting_for,
)


@dataclass(slots=True, eq=False)
class Combinations:
    """What runs under which cases. ``undecided`` is the handle of the node at which the cases became too many, else
    None.

    ``live`` is None in a graph without Decisions, where every node always runs, and where there are too many cases.
    ``waiting`` says by handle what each node waits for, ``decisions`` are the handles of all Decisions. ``reused`` says that
    conditions of earlier graphs are kept along; then ``settled`` are the nodes that were looked at again, None where all were.
    ``cyclic`` says that some nodes wait for each other, and so were looked at before what they wait for. ``loops`` are the
    Loops of ``composites``, ``lists`` what brings the items of its Maps; ``handles`` is how many handles a graph with composites
    has, None in one without.
    """

    order: Sequence[int] = ()
    waiting: dict[int, LiveNode] = field(default_factory=dict)
    cases: AllCases | None = None
    live: Liveness[Condition] | None = None
    undecided: int | None = None
    decisions: Collection[int] = ()
    reused: bool = False
    settled: Sequence[int] | None = None
    cyclic: bool = False
    loops: Mapping[str, LiveLoop] = field(default_factory=dict)
    lists: Mapping[str, tuple[Feed, ...]] = field(default_factory=dict)
    composites: Composites = NO_COMPOSITES
    handles: int | None = None
    unchosen: Liveness[bool | None] | None = None
    """What is live before any Decision has chosen, as `live_state` found it; nodes that are not listed always run."""
    _plan: list[LiveNode] | None = None
    _by_unit: LiveOrder | None = None

    @property
    def by_unit(self) -> LiveOrder | None:
        """The order of a graph with composites, None where its shape's order serves."""
        if self._by_unit is None and self.handles is not None:
            self._by_unit = live_order(self.order, self.waiting.values(), self.loops, self.handles)
        return self._by_unit

    @property
    def plan(self) -> list[LiveNode]:
        """What each node waits for, in topological order; empty where ``live`` is None."""
        if self._plan is None:
            self._plan = [self.waiting[index] for index in self.order] if self.waiting else []
        return self._plan

    @property
    def overflowed(self) -> bool:
        """Whether conditions became too many, which they might not be without those of earlier graphs."""
        return self.reused and self.cases is not None and self.cases.store.left < 0

    def always_goes_on(self, loop: str, members: Iterable[PlanNode]) -> bool:
        """Whether a Loop never ends before its turns run out, whatever is chosen, where one of its ``members`` runs at all and
        nothing fails. False also where that can't be told.
        """
        known = self.loops[loop]
        if self.live is None or self.cases is None:
            return self.undecided is None and bool(known.again) and not known.until
        algebra = self.cases
        try:
            begins = algebra.never
            for node in members:
                begins = algebra.either(begins, self.runs(node))
            return algebra.failing(algebra.either(algebra.negated(begins), self.live.more(known))) is None
        except TooManyCombinationsError:
            return False

    def runs(self, node: PlanNode) -> Condition:
        return ALWAYS if self.live is None else self.live.runs.get(node.index, ALWAYS)

    @property
    def crowded(self) -> bool:
        """Whether so many conditions of other graphs are kept along that it is better to start from nothing."""
        return self.cases is not None and self.cases.store.left < LARGEST - _MOST_KEPT

    def brings(self, edge: PlanEdge, port: str) -> Condition:
        """When an edge brings a value to a port of its target. Raises `TooManyCombinationsError`."""
        return ALWAYS if self.live is None else self.live.any_alive(feeds_of(edge, port))

    def brings_each(self, edge: PlanEdge, port: str) -> list[tuple[int | None, Condition, Condition]]:
        """When an edge brings each of its values to a port, by `Feed.passed`, and when that is several values at once. Raises
        `TooManyCombinationsError`.
        """
        if self.live is None:
            return [(None, ALWAYS, NEVER)]
        return [(feed.passed, self.live.alive(feed), self.live.several(feed)) for feed in feeds_of(edge, port)]

    def together(self, first: Condition, second: Condition) -> bool:
        """Whether both can hold at once. Raises `TooManyCombinationsError`."""
        if self.cases is None:
            return first != NEVER and second != NEVER
        return self.cases.both(first, second) != NEVER

    def either(self, first: Condition, second: Condition) -> Condition:
        return max(first, second) if self.cases is None else self.cases.either(first, second)


def combinations(graph: PlanGraph, largest: int = LARGEST) -> Combinations:
    """Work out what runs under which cases, for all combinations at once. Never raises."""
    core = graph.core
    loops = live_loops(graph) if core.composites else {}
    if not core.marks.decisions and not any(worded.word == OVER for worded in core.words.values()):
        return Combinations(loops=loops)
    by_unit = unit_order(core) if core.composites else None
    order = core.shape.order if by_unit is None else by_unit
    decisions: Mapping[int | str, int] = _decisions(graph, {})
    if core.composites:
        decisions = _with_untils(graph, decisions, loops, order)
    algebra = AllCases(decisions, largest, _inside(graph) if core.composites else None, graph.instead)
    live: Liveness[Condition] = Liveness(algebra, {}, {}, loops=loops)
    lists = lists_taken_apart(graph) if core.composites else {}
    waiting: dict[int, LiveNode] = {}
    for index in order:
        try:
            node = waiting_for(graph.node(index), live, graph.starts)
            live.settle(node)
        except TooManyCombinationsError:
            return Combinations(undecided=index, loops=loops)
        waiting[index] = node
    return Combinations(
        order,
        waiting,
        algebra,
        live,
        decisions=core.marks.decisions,
        cyclic=_is_cyclic(core.shape),
        loops=loops,
        lists=lists,
        composites=core.composites,
        handles=len(core.records) if core.composites else None,
    )


def _with_untils(
    graph: PlanGraph, decisions: Mapping[int | str, int], loops: Mapping[str, LiveLoop], order: Sequence[int]
) -> dict[int | str, int]:
    """The Decisions in their order, and behind all nodes of each Loop that may end early whether it does: two cases."""
    composites, handles = graph.core.composites, graph.core.handles
    places: dict[int | str, float] = {node: place for place, node in enumerate(order)}
    sizes: dict[int | str, int] = dict(decisions)
    for loop in loops.values():
        if loop.until:
            sizes[loop.id] = 2
            inside = [places[handles[node]] for node in composites.members(loop.id)]
            # Of several Loops that end with one node the inner one is asked first.
            places[loop.id] = max(inside, default=-1.0) + 1 - 1 / (1 + len(composites.chain(loop.id)))
    return {key: sizes[key] for key in sorted(sizes, key=places.__getitem__)}


def _inside(graph: PlanGraph) -> dict[str, frozenset[int | str]]:
    """The nodes and Loops in each Map."""
    composites, handles = graph.core.composites, graph.core.handles
    return {
        box.id: frozenset((*(handles[node] for node in composites.members(box.id)), *composites.within(box.id)))
        for box in composites
        if box.kind == "map"
    }


def _is_cyclic(shape: GraphShape) -> bool:
    return bool(shape.cycles or shape.wrong)


_MOST_KEPT = LARGEST // 10
"""Conditions of earlier graphs that are kept along at most."""


def combinations_after(graph: PlanGraph, earlier: Combinations, touched: Collection[int]) -> Combinations | None:
    """The combinations of a graph that differs at ``touched`` nodes from the one that ``earlier`` are of, which stay as they are.

    None where they must be computed from nothing. The answer is that of `combinations`, which makes no condition that isn't
    made here.
    """
    live, cases, shape = earlier.live, earlier.cases, graph.core.shape
    core = graph.core
    if live is None or cases is None or earlier.cyclic or _is_cyclic(shape) or not core.marks.decisions:
        return None
    if core.composites is not earlier.composites or core.loose:
        return None
    order = unit_order(core) if core.composites else shape.order
    if order is None:
        return None  # composites that wait for each other
    loops = live_loops(graph) if core.composites else {}
    before = cases.sizes
    known_sizes = {index: size for index, size in before.items() if isinstance(index, int) and index not in touched}
    decisions: Mapping[int | str, int] = _decisions(graph, known_sizes)
    if core.composites:
        decisions = _with_untils(graph, decisions, loops, order)
    if list(decisions.items()) != list(before.items()) or cases.instead != graph.instead:
        return None
    if earlier.crowded:
        return None
    records = graph.core.records
    known = Liveness(cases, live.runs.copy(), live.values.copy(), live.passed.copy(), loops)
    waiting = earlier.waiting.copy()
    stale: set[int] = set()
    for index in touched:
        if records[index] is None:
            for memory in (known.runs, known.values, known.passed, waiting):
                memory.pop(index, None)
        else:
            stale.add(index)
            # What a node waits for speaks of Decisions before it by their cases, of other nodes by name alone.
            if index in graph.core.marks.decisions or index in earlier.decisions:
                stale.update(shape.following[index])
    behind = _behind_borders(graph, loops)
    lists = lists_taken_apart(graph) if core.composites else {}
    for name in {**lists, **earlier.lists}:
        if lists.get(name) != earlier.lists.get(name):
            stale.update(core.handles[node] for node in core.composites.members(name) if node in core.handles)
    for name, loop in loops.items():
        if loop != earlier.loops.get(name):
            stale.update(behind.get(name, ()))
    places: Sequence[int] | Mapping[int, int] = shape.places
    if core.composites:
        places = dict(zip(order, range(len(order)), strict=True))
    last_place = -1
    settled: list[int] = []
    queue = sorted(places[index] for index in stale)
    while queue:
        place = heappop(queue)
        if place == last_place:
            continue
        last_place, index = place, order[place]
        settled.append(index)
        told = known.runs.get(index), known.values.pop(index, None), known.passed.pop(index, None)
        try:
            waiting[index] = waiting_for(graph.node(index), known)
            known.settle(waiting[index])
        except TooManyCombinationsError:
            return None
        if (known.runs[index], known.values.get(index), known.passed.get(index)) != told:
            for target in (*shape.following[index], *behind.get(index, ())):
                heappush(queue, places[target])
    return Combinations(
        order,
        waiting,
        cases,
        known,
        decisions=core.marks.decisions,
        reused=True,
        settled=settled,
        loops=loops,
        lists=lists,
        composites=core.composites,
        handles=len(core.records) if core.composites else None,
    )


def _behind_borders(graph: PlanGraph, loops: Mapping[str, LiveLoop]) -> dict[int | str, set[int]]:
    """The nodes that wait for more than their own edges bring: by the id of the Loop that may go on or of the Map, and by
    each node that this depends on.
    """
    behind: dict[int | str, set[int]] = {}
    composites, handles = graph.core.composites, graph.core.handles
    for name, edges in graph.lists.items() if composites else ():
        members = {handles[node] for node in composites.members(name) if node in handles}
        keys: list[int | str] = [name, *(edge.source.index for edge in edges)]
        for key in keys:
            behind.setdefault(key, set()).update(members)
    for edge in graph.over if loops else ():
        target = edge.target.index
        for loop in loops_before(order_of(edge), loops):
            behind.setdefault(loop.id, set()).add(target)
            for feed in (*loop.again, *loop.leads_out):
                behind.setdefault(feed.source, set()).add(target)
    return behind


def _decisions(graph: PlanGraph, known: Mapping[int, int]) -> dict[int | str, int]:
    """How many cases each Decision has that has any, in topological order; of some that is ``known``."""
    places = graph.core.shape.places
    choices: dict[int | str, int] = {}
    for index in sorted(graph.core.marks.decisions, key=places.__getitem__):
        if index in known:
            choices[index] = known[index]
        elif (cases := graph.node(index).cases) is not None and cases.keys:
            choices[index] = len(cases.keys)
    return choices
