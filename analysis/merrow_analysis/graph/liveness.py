"""Which nodes run and which are skipped, given what the Decisions choose.

One function, `spread`, says it, for the checker and the scheduler alike. It is written over an algebra of truth: with
`Chosen` it answers for the choices made so far of one run (runs, skipped, not known yet), with `Conditions` for all
combinations at once.

A node runs when each of its required ports has a live source and, if case edges enter it, one of them was chosen;
otherwise it is skipped, and edges from it are dead. A case edge that carries its Decision's value is a live source
only where that value is there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from merrow_analysis.graph.conditions import ALWAYS, LARGEST, NEVER, Condition, Conditions

Truth = TypeVar("Truth")


@dataclass(frozen=True, slots=True)
class Feed:
    """What an edge brings: ``source`` is a node's index, ``case`` the number of the case where the source is a
    Decision.

    ``carries`` says that a case edge brings the Decision's value; else it brings the order alone. ``passed`` is the number
    of the value among those that arrived, where an asking Decision passes it on.
    """

    source: int
    case: int | None = None
    carries: bool = False
    passed: int | None = None


@dataclass(frozen=True, slots=True)
class LiveNode:
    """What a node waits for. ``required`` has the feeds of each required port, ``gates`` the case edges that enter.

    ``others`` are plain edges that only bring something where none of the gates is taken: the other branches of a
    merge. One of them opens the node as well as a gate does. ``value`` has the feeds of a Decision's ``value`` port
    and is None for other nodes; ``cases`` counts a Decision's cases. ``passes`` has for each value that an asking Decision
    passes on the feed that brings it.
    """

    index: int
    required: tuple[tuple[Feed, ...], ...] = ()
    gates: tuple[Feed, ...] = ()
    others: tuple[Feed, ...] = ()
    value: tuple[Feed, ...] | None = None
    cases: int = 0
    passes: tuple[Feed, ...] = ()


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

    def settled(self, node: int, runs: Truth) -> Truth:
        """What to make of "this node runs": a run knows nodes that failed and count as skipped."""
        ...


@dataclass(slots=True)
class Liveness(Generic[Truth]):
    """The answer: for each node (by index) whether it runs, and for each Decision whether it has a value to carry; for one that
    asks, which of those that it passes on are there.
    """

    algebra: Algebra[Truth]
    runs: dict[int, Truth]
    values: dict[int, Truth]
    passed: dict[int, tuple[Truth, ...]] = field(default_factory=dict)

    def alive(self, feed: Feed) -> Truth:
        """Whether what this feed brings is there."""
        if feed.source not in self.runs:
            return self.algebra.always
        if feed.case is None:
            return self.runs[feed.source]
        taken = self.taken(feed)
        if feed.passed is not None:
            return self.algebra.both(taken, self.passed[feed.source][feed.passed])
        return self.algebra.both(taken, self.values[feed.source]) if feed.carries else taken

    def taken(self, gate: Feed) -> Truth:
        """Whether the Decision runs and chooses this case."""
        if gate.source not in self.runs:
            return self.algebra.always
        runs = self.runs[gate.source]
        return runs if gate.case is None else self.algebra.both(runs, self.algebra.chosen(gate.source, gate.case))

    def any_taken(self, gates: Sequence[Feed]) -> Truth:
        truth = self.algebra.never
        for gate in gates:
            truth = self.algebra.either(truth, self.taken(gate))
        return truth

    def any_alive(self, feeds: Sequence[Feed]) -> Truth:
        truth = self.algebra.never
        for feed in feeds:
            truth = self.algebra.either(truth, self.alive(feed))
        return truth

    def settle(self, node: LiveNode) -> None:
        """Say whether ``node`` runs, once that is known of all that it waits for."""
        algebra = self.algebra
        truth = algebra.always
        for feeds in node.required:
            truth = algebra.both(truth, self.any_alive(feeds))
        if node.gates:
            opened = algebra.either(self.any_taken(node.gates), self.any_alive(node.others))
            truth = algebra.both(truth, opened)
        self.runs[node.index] = algebra.settled(node.index, truth)
        if node.value is not None:
            self.values[node.index] = self.any_alive(node.value)
        if node.passes:
            self.passed[node.index] = tuple(self.alive(feed) for feed in node.passes)


def spread(plan: LivePlan, algebra: Algebra[Truth]) -> Liveness[Truth]:
    """Say for every node of ``plan`` whether it runs. Takes time linear in the plan, in steps of the algebra."""
    live: Liveness[Truth] = Liveness(algebra, {}, {})
    for node in plan:
        live.settle(node)
    return live


class Chosen:
    """The truth of one run: True, False, or None for what isn't known before some Decision has chosen."""

    always: bool | None = True
    never: bool | None = False

    def __init__(self, cases: Mapping[int, int], skipped: Collection[int] = ()) -> None:
        """``cases``: what Decisions have chosen so far, by index; ``skipped``: nodes that failed and count as
        skipped.
        """
        self._cases = cases
        self._skipped = skipped

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

    def settled(self, node: int, runs: bool | None) -> bool | None:
        return False if node in self._skipped else runs


class AllCases:
    """The truth of all combinations of cases at once."""

    always: Condition = ALWAYS
    never: Condition = NEVER

    def __init__(self, decisions: Mapping[int, int], largest: int = LARGEST) -> None:
        """``decisions``: how many cases each Decision has, by index, in topological order."""
        self.decisions = list(decisions)
        self._numbers = {index: number for number, index in enumerate(decisions)}
        self.store = Conditions(list(decisions.values()), largest)

    def both(self, first: Condition, second: Condition) -> Condition:
        return self.store.both(first, second)

    def either(self, first: Condition, second: Condition) -> Condition:
        return self.store.either(first, second)

    def chosen(self, node: int, case: int) -> Condition:
        return self.store.chosen(self._numbers[node], case)

    def settled(self, node: int, runs: Condition) -> Condition:
        del node
        return runs

    def failing(self, condition: Condition) -> dict[int, int] | None:
        """Cases by Decision index under which ``condition`` does not hold, or None where it always does."""
        return self._named(self.store.counterexample(condition))

    def holding(self, condition: Condition) -> dict[int, int] | None:
        """Cases by Decision index under which ``condition`` holds, or None where it never does."""
        return self._named(self.store.example(condition))

    def _named(self, choices: dict[int, int] | None) -> dict[int, int] | None:
        return None if choices is None else {self.decisions[number]: case for number, case in choices.items()}
