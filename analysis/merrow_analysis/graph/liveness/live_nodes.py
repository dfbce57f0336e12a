"""Which nodes run and which are skipped, given what the Decisions choose.

One function, `spread`, says it, for the checker and the scheduler alike. It is written over an algebra of truth: with
`RunTruth` it answers for the choices made so far of one run (runs, skipped, not known yet), with `Conditions` for all
combinations at once.

A node runs when each of its required ports has a live source and, if case edges enter it, one of them was chosen;
otherwise it is skipped, and edges from it are dead. A case edge that carries its Decision's value is a live source
only where that value is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

from merrow_analysis.graph.bare.conditions import ALWAYS, LARGEST, NEVER, Condition, Conditions

Truth = TypeVar("Truth")


@dataclass(frozen=True, slots=True)
class Feed:
    """What an edge brings: ``source`` is a node's index, ``case`` the number of the case where the source is a
    Decision.

    ``carries`` says that a case edge brings the Decision's value; else it brings the order alone. ``passed`` is the number
    of what an asking Decision passes on, as in `Signature.passes`. ``over`` is the Loop whose turns must have run
    out for the edge to be taken, ``out_of`` the outermost Map that it leaves: what is chosen in there is no matter outside.
    """

    source: int
    case: int | None = None
    carries: bool = False
    passed: int | None = None
    over: str | None = None
    out_of: str | None = None


@dataclass(frozen=True, slots=True)
class LiveLoop:
    """What says whether another turn of a Loop begins (`Liveness.more`).

    ``again`` are its own ``again`` edges, ``leads_out`` the case edges, and ``over`` edges of inner Loops, that lead out of it.
    ``until`` says that it has such a parameter. Where one of the ``firm`` ones of ``again`` is taken, another turn begins
    although a case leads out.
    """

    id: str
    again: tuple[Feed, ...] = ()
    leads_out: tuple[Feed, ...] = ()
    until: bool = False
    firm: tuple[Feed, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveNode:
    """What a node waits for. ``required`` has the feeds of each required port, ``gates`` the case edges that enter.

    ``others`` are plain edges that only bring something where none of the gates is taken: the other branches of a
    merge. One of them opens the node as well as a gate does. ``value`` has the feeds of a Decision's ``value`` port
    and is None for other nodes; ``cases`` counts a Decision's cases. ``passes`` has for all that an asking Decision
    passes on as one the feeds that bring it.
    """

    index: int
    required: tuple[tuple[Feed, ...], ...] = ()
    gates: tuple[Feed, ...] = ()
    others: tuple[Feed, ...] = ()
    value: tuple[Feed, ...] | None = None
    cases: int = 0
    passes: tuple[tuple[Feed, ...], ...] = ()


LivePlan = Sequence[LiveNode]
"""Nodes in topological order: every feed comes from a node further up, or from one that is not listed and counts as
live.
"""


class Algebra(Protocol[Truth]):
    """And, or, and what is known of a Decision's choice."""

    @property
    def always(self) -> Truth: ...

    @property
    def never(self) -> Truth: ...

    def both(self, first: Truth, second: Truth) -> Truth: ...

    def either(self, first: Truth, second: Truth) -> Truth: ...

    def chosen(self, node: int, case: int) -> Truth: ...

    def negated(self, truth: Truth) -> Truth: ...

    def until(self, loop: str) -> Truth:
        """Whether the ``until`` of a Loop holds."""
        ...

    def more(self, loop: str) -> Truth | None:
        """Whether another turn of a Loop would begin, where that is told from outside; None where it follows."""
        ...

    def projected(self, truth: Truth, box: str) -> Truth:
        """What remains of a truth outside of a Map: whether it holds for some of the choices in there."""
        ...

    def settled(self, node: int, runs: Truth) -> Truth:
        """What to make of "this node runs": a run knows nodes that failed and count as skipped."""
        ...


@dataclass(slots=True)
class Liveness(Generic[Truth]):
    """The answer: for each node (by index) whether it runs, and for each Decision whether it has a value to carry; for one that
    asks, what it passes on: by number whether that is there, and whether it is several values at once.
    """

    algebra: Algebra[Truth]
    runs: dict[int, Truth]
    values: dict[int, Truth]
    passed: dict[int, tuple[tuple[Truth, Truth], ...]] = field(default_factory=dict)
    loops: Mapping[str, LiveLoop] = field(default_factory=dict)

    def alive(self, feed: Feed) -> Truth:
        """Whether what this feed brings is there."""
        truth = self._inside(feed)
        return truth if feed.out_of is None else self.algebra.projected(truth, feed.out_of)

    def _inside(self, feed: Feed) -> Truth:
        """`alive`, for those inside all Maps that the feed leaves."""
        taken = self._taken(feed)
        if feed.case is None or feed.source not in self.runs:
            return taken
        if feed.passed is not None:
            passed = self.passed.get(feed.source)
            return taken if passed is None else self.algebra.both(taken, passed[feed.passed][0])
        return self.algebra.both(taken, self.values[feed.source]) if feed.carries else taken

    def several(self, feed: Feed) -> Truth:
        """Whether this feed brings several values at once. What has left a Map is one list."""
        if feed.passed is None or feed.out_of is not None or feed.source not in self.passed:
            return self.algebra.never
        return self.algebra.both(self._taken(feed), self.passed[feed.source][feed.passed][1])

    def _as_one(self, feeds: Sequence[Feed]) -> tuple[Truth, Truth]:
        """Whether any of these feeds brings something, and whether they bring several values."""
        algebra = self.algebra
        some, several = algebra.never, algebra.never
        for feed in feeds:
            alive = self.alive(feed)
            several = algebra.either(several, algebra.either(self.several(feed), algebra.both(some, alive)))
            some = algebra.either(some, alive)
        return some, several

    def taken(self, gate: Feed) -> Truth:
        """Whether the Decision runs and chooses this case."""
        truth = self._taken(gate)
        return truth if gate.out_of is None else self.algebra.projected(truth, gate.out_of)

    def _taken(self, gate: Feed) -> Truth:
        truth = self.runs.get(gate.source, self.algebra.always)
        if gate.case is not None and gate.source in self.runs:
            truth = self.algebra.both(truth, self.algebra.chosen(gate.source, gate.case))
        return truth if gate.over is None else self.algebra.both(truth, self.more(self.loops[gate.over]))

    def more(self, loop: LiveLoop) -> Truth:
        """Whether another turn of a Loop begins after the one that this is the liveness of, while turns remain."""
        algebra = self.algebra
        told = algebra.more(loop.id)
        if told is not None:
            return told
        truth = self.any_taken(loop.again)
        if loop.leads_out:
            truth = algebra.both(truth, algebra.negated(self.any_taken(loop.leads_out)))
            if loop.firm:
                truth = algebra.either(truth, self.any_taken(loop.firm))
        return algebra.both(truth, algebra.negated(algebra.until(loop.id))) if loop.until else truth

    def any_taken(self, gates: Sequence[Feed]) -> Truth:
        truth = self.algebra.never
        for gate in gates:
            truth = self.algebra.either(truth, self.taken(gate))
        return truth

    def any_other_taken(self, gates: Sequence[Feed]) -> Iterator[Truth]:
        """For each gate whether any other one is taken, in steps of the algebra that are linear in the gates."""
        either, never = self.algebra.either, self.algebra.never
        truths = [self.taken(gate) for gate in gates]
        behind = list(accumulate(reversed(truths), either, initial=never))[-2::-1]
        for truth, before in zip(behind, accumulate(truths, either, initial=never), strict=False):
            yield either(before, truth)

    def any_alive(self, feeds: Sequence[Feed]) -> Truth:
        truth = self.algebra.never
        for feed in feeds:
            truth = self.algebra.either(truth, self.alive(feed))
        return truth

    def _all_alive(self, required: Sequence[Sequence[Feed]]) -> Truth:
        truth = self.algebra.always
        for feeds in required:
            truth = self.algebra.both(truth, self.any_alive(feeds))
        return truth

    def without_each_gate(self, node: LiveNode) -> Iterator[Truth]:
        """For each gate of ``node`` whether it runs where that one is not there."""
        algebra, ready = self.algebra, self._all_alive(node.required)
        others = self.any_alive(node.others)
        for opened in self.any_other_taken(node.gates):
            yield algebra.both(ready, algebra.either(opened, others)) if len(node.gates) > 1 else ready

    def settle(self, node: LiveNode) -> None:
        """Say whether ``node`` runs, once that is known of all that it waits for."""
        algebra = self.algebra
        truth = self._all_alive(node.required)
        if node.gates:
            opened = algebra.either(self.any_taken(node.gates), self.any_alive(node.others))
            truth = algebra.both(truth, opened)
        self.runs[node.index] = algebra.settled(node.index, truth)
        if node.value is not None:
            self.values[node.index] = self.any_alive(node.value)
        if node.passes:
            self.passed[node.index] = tuple([self._as_one(feeds) for feeds in node.passes])


def spread(plan: LivePlan, algebra: Algebra[Truth], loops: Mapping[str, LiveLoop] | None = None) -> Liveness[Truth]:
    """Say for every node of ``plan`` whether it runs. Takes time linear in the plan, in steps of the algebra."""
    live: Liveness[Truth] = Liveness(algebra, {}, {}, loops={} if loops is None else loops)
    for node in plan:
        live.settle(node)
    return live


class RunTruth:
    """The truth of one run: True, False, or None for what isn't known before some Decision has chosen."""

    always: bool | None = True
    never: bool | None = False

    def __init__(self, cases: Mapping[int, int], skipped: Collection[int] = ()) -> None:
        """``cases``: what Decisions have chosen so far, by index; ``skipped``: nodes that failed and count as
        skipped.
        """
        self._cases = cases
        self._skipped = skipped
        self.untils: dict[str, bool] = {}
        self.mores: dict[str, bool] = {}

    def both(self, first: bool | None, second: bool | None) -> bool | None:
        if first is False or second is False:
            return False
        return None if first is None or second is None else True

    def either(self, first: bool | None, second: bool | None) -> bool | None:
        if first or second:
            return True
        return None if first is None or second is None else False

    def chosen(self, node: int, case: int) -> bool | None:
        choice = self._cases.get(node)
        return None if choice is None else choice == case

    def negated(self, truth: bool | None) -> bool | None:
        return None if truth is None else not truth

    def until(self, loop: str) -> bool | None:
        return self.untils.get(loop)

    def more(self, loop: str) -> bool | None:
        return self.mores.get(loop)

    def projected(self, truth: bool | None, box: str) -> bool | None:
        # In a frame around it nothing in a Map is ever chosen: only what is dead there whatever is chosen is dead outside.
        del box
        return truth is not False

    def settled(self, node: int, runs: bool | None) -> bool | None:
        return False if node in self._skipped else runs


class AllCases:
    """The truth of all combinations of cases at once."""

    always: Condition = ALWAYS
    never: Condition = NEVER

    def __init__(
        self,
        decisions: Mapping[int | str, int],
        largest: int = LARGEST,
        inside: Mapping[str, frozenset[int | str]] | None = None,
        instead: Mapping[int, Mapping[int, int]] | None = None,
    ) -> None:
        """``decisions``: how many cases each Decision has, by index, in topological order; the ``until`` of a Loop, by the Loop's
        id, is a free choice of two. ``inside`` has the Decisions and Loops in each Map. ``instead`` says by Decision for cases
        that are closed in the last turn of a Loop which one counts then: each such case is two, one that counts itself and one
        for which that counts.
        """
        self.sizes = decisions
        self.instead = instead or {}
        self.decisions = list(decisions)
        self._numbers = {index: number for number, index in enumerate(decisions)}
        self._inside = {
            box: frozenset(self._numbers[name] for name in ones if name in self._numbers)
            for box, ones in (inside or {}).items()
        }
        self._closed: dict[int | str, dict[int, int]] = {
            node: {size + place: other for place, other in enumerate(self.instead[node])}
            for node, size in decisions.items()
            if isinstance(node, int) and node in self.instead
        }
        """By Decision the numbers of those second ones, with the case that each is."""
        extra = [len(self._closed.get(node, ())) for node in decisions]
        self.store = Conditions([size + more for size, more in zip(decisions.values(), extra, strict=True)], largest)

    def both(self, first: Condition, second: Condition) -> Condition:
        return self.store.both(first, second)

    def either(self, first: Condition, second: Condition) -> Condition:
        return self.store.either(first, second)

    def chosen(self, node: int, case: int) -> Condition:
        result = self.store.chosen(self._numbers[node], case)
        for number, other in self._closed.get(node, {}).items():
            if self.instead[node][other] == case:
                result = self.store.either(result, self.store.chosen(self._numbers[node], number))
        return result

    def negated(self, truth: Condition) -> Condition:
        return self.store.negated(truth)

    def until(self, loop: str) -> Condition:
        return self.store.chosen(self._numbers[loop], 0)

    def more(self, loop: str) -> Condition | None:
        del loop
        return None

    def projected(self, truth: Condition, box: str) -> Condition:
        return self.store.some(truth, self._inside[box])

    def settled(self, node: int, runs: Condition) -> Condition:
        del node
        return runs

    def failing(self, condition: Condition) -> dict[int | str, int] | None:
        """Cases by Decision index under which ``condition`` does not hold, or None where it always does. By the id of a Loop with
        ``until`` 0 where that holds, else 1.
        """
        return self._named(self.store.counterexample(condition))

    def holding(self, condition: Condition) -> dict[int | str, int] | None:
        """Cases under which ``condition`` holds, as `failing` gives them, or None where it never does."""
        return self._named(self.store.example(condition))

    def _named(self, choices: dict[int, int] | None) -> dict[int | str, int] | None:
        if choices is None:
            return None
        named = {self.decisions[number]: case for number, case in choices.items()}
        return {name: self._closed.get(name, {}).get(case, case) for name, case in named.items()}
