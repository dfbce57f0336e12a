"""What runs and what is skipped in one run, given what its Decisions have chosen so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from merrow_analysis.graph.liveness.live_nodes import Feed, Liveness, LiveNode, RunTruth, spread
from merrow_analysis.graph.liveness.turning import FIRST_TURN, Turn
from merrow_analysis.graph.liveness.waiting import order_of, waiting_alone
from merrow_analysis.graph.nodes import TypedGraph, TypedNode


@dataclass(slots=True, eq=False)
class LiveState:
    """The state of one run, given what its Decisions have chosen so far. It follows the run: a choice settles again the nodes
    behind it, as far as something changes, and nothing else.
    """

    graph: TypedGraph
    _live: Liveness[bool | None]
    _algebra: RunTruth
    _chosen: dict[int, int]
    _skipped: set[int]
    _alone: dict[int, LiveNode] = field(default_factory=dict)
    _members: dict[str, tuple[frozenset[int], frozenset[str]]] = field(default_factory=dict)
    """Of each composite that was entered, the handles of the nodes inside, and the ids of it and of the composites inside."""
    _turn: Turn = FIRST_TURN
    """Which turns of Loops without a box these are."""
    _ran: dict[int, bool] = field(default_factory=dict)
    """Of nodes in Loops without a box that have ended whether they ran in the last turn, whatever leads to them from outside."""
    _own: frozenset[int] | None = None
    """In a frame inside a composite the nodes whose liveness is its matter; None: all are."""

    def runs(self, node: TypedNode) -> bool | None:
        """True: it runs or ran; False: it is skipped; None: some Decision before it hasn't chosen yet."""
        return self._live.runs.get(node.index, True)

    def alive(self, feed: Feed) -> bool | None:
        """Whether what an edge brings is there; None: some Decision before it hasn't chosen yet."""
        return self._live.alive(feed)

    def choose(self, decision: int, case: int) -> list[int]:
        """A Decision chose. The handles of the nodes for which the answer whether they run has changed, in their order."""
        self._chosen[decision] = case
        return self._settle(self.graph.live_order.following[decision])

    def skip(self, node: int) -> list[int]:
        """A node failed and counts as skipped. The handles of the nodes, as `choose` gives them."""
        self._skipped.add(node)
        return self._settle([node])

    def more(self, loop: str) -> bool | None:
        """Whether another turn of a Loop would begin after what this is the state of, while turns remain; None: not known yet."""
        return self._live.more(self.graph.combinations.loops[loop])

    def tell_until(self, loop: str, holds: bool) -> None:
        """Whether the ``until`` of a Loop holds, in a frame of it."""
        self._algebra.untils[loop] = holds

    def tell_more(self, loop: str, more: bool) -> list[int]:
        """A Loop has ended: whether the turn whose values go out had `more`. The handles of nodes, as `choose` gives them."""
        self._algebra.mores[loop] = more
        ordered = self.graph.combinations.by_unit
        return [] if ordered is None else self._settle(ordered.behind.get(loop, ()))

    @property
    def turn(self) -> Turn:
        """Which turns of Loops without a box this is the state of."""
        return self._turn

    def ways_back(self, loop: str) -> list[int]:
        """The handles of the nodes that the ``again`` edges of a Loop lead to which were taken."""
        return [
            edge.target.index
            for edge in self.graph.again
            if edge.border.scope == loop and self._live.taken(order_of(edge)) is True
        ]

    def tell_ran(self, ran: Mapping[int, bool]) -> list[int]:
        """Which nodes of a Loop without a box, by handle, ran in its last turn. The handles of nodes, as `choose` gives them."""
        self._ran |= ran
        return self._settle(ran)

    def inner(self, box: str, turn: Turn | None = None) -> LiveState:
        """The state of a frame inside a composite: the same choices around it, none in it. The two change apart from now on.

        ``turn`` says which turn of a Loop without a box it is, None where that is as around it.
        """
        known, composites = self._members.get(box), self.graph.composites
        if known is None:
            handles = frozenset(self.graph.by_id[node].index for node in composites.members(box))
            known = self._members[box] = handles, frozenset(composites.within(box))
        own, within = known
        chosen = {node: case for node, case in self._chosen.items() if node not in own}
        skipped = self._skipped - own
        algebra = RunTruth(chosen, skipped)
        algebra.untils = {loop: holds for loop, holds in self._algebra.untils.items() if loop not in within}
        algebra.mores = {loop: more for loop, more in self._algebra.mores.items() if loop not in within}
        live = self._live
        inner = Liveness(algebra, live.runs.copy(), live.values.copy(), live.passed.copy(), live.loops)
        now, ran = turn or self._turn, {node: known for node, known in self._ran.items() if node not in own}
        state = LiveState(self.graph, inner, algebra, chosen, skipped, self._alone, self._members, now, ran, own)
        if turn is not None or own & (self._chosen.keys() | self._skipped | self._ran.keys()):
            state._settle(own)
        return state

    def _settle(self, stale: Iterable[int]) -> list[int]:
        live, ordered = self._live, self.graph.live_order
        places, order, following = ordered.places, ordered.order, ordered.following
        queue = sorted({places[node] for node in stale})
        last_place = -1
        changed: list[int] = []
        while queue:
            place = heappop(queue)
            if place == last_place:
                continue
            last_place, node = place, order[place]
            if self._own is not None and node not in self._own:
                continue
            before = live.runs.get(node, True), live.values.get(node), live.passed.get(node)
            live.settle(self._waiting(node))
            if node in self._ran:
                live.runs[node] = self._ran[node]
            if (live.runs[node], live.values.get(node), live.passed.get(node)) != before:
                changed.append(node)
                for target in following[node]:
                    heappush(queue, places[target])
        return changed

    def _waiting(self, node: int) -> LiveNode:
        if self._turn is not FIRST_TURN and self.graph.turning is not None:
            return self.graph.turning.waiting(self.graph.node(node), self._turn)
        known = self.graph.combinations.waiting.get(node) or self._alone.get(node)
        if known is None:
            known = self._alone[node] = waiting_alone(self.graph.node(node), self.graph.starts)
        return known


def live_state(graph: TypedGraph, chosen: Mapping[str, int] | None = None, skipped: Collection[str] = ()) -> LiveState:
    """Say what runs and what is skipped.

    ``chosen`` has the case number (`Cases.choose`) of each Decision that has chosen, by node id; ``skipped`` the
    ids of nodes that failed and count as skipped (``on_error: skip``). Only for graphs without errors.
    """
    known, by_id = graph.combinations, graph.by_id
    cases = {by_id[node].index: case for node, case in (chosen or {}).items()}
    gone = {by_id[node].index for node in skipped}
    algebra = RunTruth(cases, gone)
    if not (cases or gone):
        first = known.unchosen
        if first is None:
            plan = _plan(graph) if graph.decisions or known.by_unit is not None else []
            first = known.unchosen = spread(plan, algebra, known.loops)
        live = Liveness(algebra, first.runs.copy(), first.values.copy(), first.passed.copy(), known.loops)
        return LiveState(graph, live, algebra, cases, gone)
    return LiveState(graph, spread(_plan(graph), algebra, known.loops), algebra, cases, gone)


def _plan(graph: TypedGraph) -> Sequence[LiveNode]:
    return graph.combinations.plan or [
        waiting_alone(graph.node(index), graph.starts) for index in graph.live_order.order
    ]
