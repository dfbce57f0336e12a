"""The order of a graph's nodes, worked out again only from where an edit changes it to where all goes on as before.

The order puts sources before targets: what is ready comes in the order of first mention (Kahn 1962, with a heap of ranks). Where
nothing is ready, nodes wait for each other. The knot that the first of the remaining nodes waits for comes then, all at once. So
what comes next is a function of the set of nodes that came already and of the edges among the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple, Protocol

from merrow_analysis.graph.bare.reach import components


class Ranked(Protocol):
    """What a shape has that its order is made of; see `merrow_analysis.graph.bare.shape`."""

    ranks: list[float]
    before: list[list[int]]
    wrong: frozenset[int]

    def sources(self, node: int) -> list[int]: ...

    def targets(self, node: int) -> Collection[int]: ...

    def by_rank(self, nodes: Iterable[int]) -> list[int]: ...


class Ordered(NamedTuple):
    """Nodes in their order, and the knots among them, of more than one node each, as they come."""

    order: list[int]
    cycles: list[list[int]]


@dataclass(slots=True, eq=False)
class Draft:
    """An order that held before an edit: of the nodes that there are now, with those of ``born`` anywhere.

    It holds still up to ``begin``. From ``until`` on all nodes have the edges in that they had. ``places`` are those of the nodes
    in ``order``, by handle (-1 for others), ``cycles`` those of before the edit: none of them begins before ``begin``.
    """

    order: list[int]
    places: list[int]
    begin: int
    until: int
    born: Sequence[int] = ()
    cycles: Sequence[list[int]] = ()


def ordered(shape: Ranked, draft: Draft) -> Ordered:
    """The order of a shape's nodes. Takes time linear in the part of the draft that does not hold, and in the edges there."""
    return _Ordering(shape, draft).run()


@dataclass(slots=True, eq=False)
class _Ordering:
    shape: Ranked
    draft: Draft
    found: list[int] = field(default_factory=list)
    knots: list[list[int]] = field(default_factory=list)
    came: set[int] = field(default_factory=set)
    heap: list[tuple[float, int]] = field(default_factory=list)
    queued: set[int] = field(default_factory=set)
    waiting: dict[int, int] = field(default_factory=dict)
    """For some nodes how many sources have not come yet."""
    rest: Iterator[list[int]] | None = None

    def run(self) -> Ordered:
        draft, ranks, heap = self.draft, self.shape.ranks, self.heap
        base, places, begin = draft.order, draft.places, draft.begin
        came, queued, waiting, sources = self.came, self.queued, self.waiting, self.shape.sources
        spans = self._spans()
        scanned, most, last = begin, -inf, begin - 1
        here = begin
        while True:
            # What was ready all along came before only if its rank is smaller; so what is further on may wait to be looked at.
            while scanned < len(base) and (scanned < draft.until or not heap or heap[0][0] > most):
                node = base[scanned]
                scanned += 1
                if ranks[node] > most and node not in draft.born:
                    most = ranks[node]
                if node in queued or node in waiting:
                    continue
                for source in sources(node):
                    if places[source] >= begin and source not in came:
                        break
                else:
                    self._queue(node)
            if heap:
                node = heappop(heap)[1]
                self._come(node)
                last = max(last, places[node])
            elif here < len(base):
                knot = self._knot()
                self._come_together(knot)
                last = max(last, *map(places.__getitem__, knot))
            else:
                break
            here = begin + len(self.found)
            if last + 1 == here >= draft.until and not any(start < here < end for start, end in spans):
                break
        order = [*base[:begin], *self.found, *base[here:]]
        behind = [knot for knot in draft.cycles if all(places[node] >= here for node in knot)]
        return Ordered(order, [*self.knots, *behind])

    def _spans(self) -> list[tuple[int, int]]:
        """Where the knots of the draft begin and end in it."""
        left = ([place for node in knot if (place := self.draft.places[node]) >= 0] for knot in self.draft.cycles)
        return [(min(knot), max(knot) + 1) for knot in left if knot]

    def _missing(self, node: int) -> int:
        """How many sources of a node have not come yet."""
        missing = self.waiting.get(node)
        if missing is None:
            places, begin, came = self.draft.places, self.draft.begin, self.came
            sources = {one for one in self.shape.sources(node) if places[one] >= begin and one not in came}
            missing = self.waiting[node] = len(sources)
        return missing

    def _queue(self, node: int) -> None:
        self.queued.add(node)
        heappush(self.heap, (self.shape.ranks[node], node))

    def _come(self, node: int) -> None:
        self.found.append(node)
        self.came.add(node)
        for target in self.shape.targets(node):
            if target in self.queued:
                continue
            if target in self.waiting:
                self.waiting[target] -= 1
            if not self._missing(target):
                self._queue(target)

    def _come_together(self, knot: list[int]) -> None:
        self.found += knot
        self.knots.append(knot)
        self.came.update(knot)
        self.queued.update(knot)
        for target in {target for node in knot for target in self.shape.targets(node)}:
            if target not in self.queued:
                self.waiting.pop(target, None)
                if not self._missing(target):
                    self._queue(target)

    def _knot(self) -> list[int]:
        """Nodes that wait for each other and for nothing else."""
        shape, came = self.shape, self.came
        if self.rest is None:
            left = [node for node in self.draft.order[self.draft.begin :] if node not in came]
            rows = shape.before
            if shape.wrong:
                rows = rows.copy()
                for node in shape.wrong:
                    rows[node] = shape.sources(node)
            self.rest = components(rows, shape.by_rank(left))
        return shape.by_rank(next(knot for knot in self.rest if knot[0] not in came))
