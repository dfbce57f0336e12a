"""The order of a graph's nodes, worked out again only where an edit changes it.

The order puts sources before targets: what is ready comes in the order of first mention (Kahn 1962, with a heap of ranks). Where
nothing is ready, nodes wait for each other. The knot that the first of the remaining nodes waits for comes then, all at once. So
what comes next is a function of the set of nodes that came already and of the edges among the others.

An edit starts from an order without knots that held once, and from the nodes that have other sources now. What neither is one of
these nor follows from one comes in the order in which it came: a walk along the old order finds it. All others wait in a heap.
Wherever those that came are all those up to a place of the old order, it goes on as before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol

from merrow_analysis.graph.bare.reach import components

_LONG_WALK = 50
"""Nodes one after the other that follow from some that strayed; then all that do are looked for at once."""
_MOST_WALKS = 4
"""Knots behind each of which what is left goes on in its old order; then all of it waits in the heap."""


class RankedShape(Protocol):
    """What a shape has that its order is made of; see `merrow_analysis.graph.bare.shape`."""

    ranks: list[float]
    following: list[list[int]]
    before: list[list[int]]
    wrong: frozenset[int]

    def sources(self, node: int) -> list[int]: ...

    def targets(self, node: int) -> Collection[int]: ...

    def by_rank(self, nodes: Iterable[int]) -> list[int]: ...


class NodeOrder(NamedTuple):
    """Nodes in their order, and the knots among them, of more than one node each, as they come."""

    order: list[int]
    cycles: list[list[int]]


class Strayed(NamedTuple):
    """A node whose sources are others than an old order was made of, and the first place in that order where it may come now."""

    node: int
    first: int


def ordered_cold(shape: RankedShape, nodes: Collection[int]) -> NodeOrder:
    """The order of ``nodes``, which are all nodes of a shape, made of nothing. Linear but for the heap."""
    ranks, following, wrong = shape.ranks, shape.following, shape.wrong
    missing = list(map(len, shape.before))
    for node in wrong:
        missing[node] = len(shape.sources(node))
    ready = [(ranks[node], node) for node in nodes if not missing[node]]
    heapify(ready)
    order: list[int] = []
    knots: list[list[int]] = []
    rest: Iterator[list[int]] | None = None
    came: set[int] = set()
    counted = 0
    while True:
        while ready:
            node = heappop(ready)[1]
            order.append(node)
            # Edges that repeat another one were counted, too.
            for target in _counted(shape, node) if wrong else following[node]:
                missing[target] -= 1
                if not missing[target]:
                    heappush(ready, (ranks[target], target))
        if len(order) == len(nodes):
            return NodeOrder(order, knots)
        came.update(order[counted:])
        counted = len(order)
        if rest is None:
            rest = _knots(shape, [node for node in nodes if node not in came])
        knot = shape.by_rank(next(knot for knot in rest if knot[0] not in came))
        knots.append(knot)
        order += knot
        came.update(knot)
        for node in knot:
            for target in _counted(shape, node):
                missing[target] -= 1
                if not missing[target] and target not in came:
                    heappush(ready, (ranks[target], target))


def _counted(shape: RankedShape, node: int) -> Collection[int]:
    """Where the edges out of a node lead that count for the order, a target once for each edge."""
    targets = shape.targets(node)
    row = shape.following[node]
    return row if len(row) == len(targets) else [target for target in row if target in targets]


def _knots(shape: RankedShape, left: Collection[int]) -> Iterator[list[int]]:
    """The strongly connected components among nodes that are left, sources first, from what the first of them waits for on."""

    def roots() -> Iterator[int]:
        # Most often what the first one waits for is all that is asked for.
        yield min(left, key=shape.ranks.__getitem__)
        yield from shape.by_rank(left)

    return components(_rows(shape), roots(), set(left))


def _rows(shape: RankedShape) -> list[list[int]]:
    """The sources of all nodes that count for the order."""
    rows = shape.before
    if shape.wrong:
        rows = rows.copy()
        for node in shape.wrong:
            rows[node] = shape.sources(node)
    return rows


def first_place(
    shape: RankedShape, node: int, order: Sequence[int], places: Sequence[int], begin: int = 0
) -> int | None:
    """The first place in an order, from ``begin`` on, at which a node may come whose sources differ from those it had there; None
    where it stays.

    Where an edge is gone its target may come earlier: not before the last of its sources that stay, and from there on only if
    its rank is smaller than that of a node which came before it so far. Where an edge came from a node that is later in the
    order, its target comes later.
    """
    ranks, own_place = shape.ranks, places[node]
    first = max(map(places.__getitem__, shape.sources(node)), default=-1) + 1
    if first > own_place:
        return own_place
    first = max(first, begin)
    while first < own_place and ranks[order[first]] < ranks[node]:
        first += 1
    return None if first == own_place else first


def ordered(shape: RankedShape, order: list[int], places: list[int], strayed: Sequence[Strayed]) -> NodeOrder:
    """The order of a shape's nodes, of one that all but the nodes ``strayed`` fit in, and that has no knots.

    ``places`` are those of the nodes in ``order``, by handle. Takes time linear in the part of the order that does not hold any
    more, and in the edges there; a knot has the rest of the order walked along as well.
    """
    return _Ordering(shape, order, places, strayed).run()


@dataclass(slots=True, eq=False)
class _Ordering:
    shape: RankedShape
    base: list[int]
    places: list[int]
    strayed: Sequence[Strayed]
    begin: int = 0
    """From this place of the old order on nodes need to have come to be there."""
    here: int = 0
    """Up to which place of the old order the nodes that it leaves where they were have come."""
    found: list[int] = field(default_factory=list)
    knots: list[list[int]] = field(default_factory=list)
    came: set[int] = field(default_factory=set)
    """Those that came since ``begin``."""
    late: set[int] = field(default_factory=set)
    """Those that strayed or follow from one that did: they come when they are ready."""
    heap: list[tuple[float, int]] = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)
    """For some late nodes how many sources have not come yet."""
    watched: dict[int, list[int]] = field(default_factory=dict)
    """By source those nodes of ``waiting`` that wait for it."""
    rest: Iterator[list[int]] | None = None
    arrived: bool = False
    """Whether a late one has come since ``begin``."""
    closed: bool = False
    """Whether all that follow from those that strayed are known to be late."""

    def run(self) -> NodeOrder:
        shape, base, places, heap = self.shape, self.base, self.places, self.heap
        ranks, rows, late, watched = shape.ranks, _rows(shape), self.late, self.watched
        order, came, size = self.found, self.came, len(base)
        until = 1 + max((places[node] for node, _ in self.strayed), default=-1)
        self._start(0)
        last = len(order) - 1
        while len(order) < until or last >= len(order):
            start, here = self.here, size
            for place in range(start, size):
                node = base[place]
                if node not in late:
                    if self.closed or late.isdisjoint(rows[node]):
                        here = place
                        break
                    late.add(node)
                    if place - start > _LONG_WALK:
                        self._close()
            self.here = here
            if heap and (here == size or heap[0][0] < ranks[base[here]]):
                node = heappop(heap)[1]
                order.append(node)
                self._arrived((node,))
                last = max(last, places[node])
            elif here < size:
                self.here += 1
                order.append(node)
                came.add(node)
                last = max(last, here)
                if node in watched:
                    self._release(node)
            else:
                knot = self._knot()
                order += knot
                if len(self.knots) <= _MOST_WALKS:
                    until = self._go_on(knot)
                    base, places = self.base, self.places
                    last = len(order) - 1
                    continue
                self._arrived(knot)
                last = max(last, *map(places.__getitem__, knot))
            # All up to a place have come, and no other.
            if self.arrived and last + 1 == len(order) == self.here < until:
                self._start(len(order))
                last = len(order) - 1
        return NodeOrder([*order, *base[len(order) :]], self.knots)

    def _start(self, place: int) -> None:
        """Go on from a place of the old order, up to which all have come, to the first where one that strayed may come."""
        left = [stray for stray in self.strayed if self.places[stray.node] >= place]
        begin = max(place, min(stray.first for stray in left)) if left else place
        self.found += self.base[place:begin]
        self.begin = self.here = begin
        for kept in (self.came, self.late, self.heap, self.waiting, self.watched):
            kept.clear()
        self.rest, self.arrived, self.closed = None, False, False
        self.late.update(stray.node for stray in left)
        for stray in left:
            self._wait(stray.node)

    def _close(self) -> None:
        """Find all that follow from late nodes that have not come; a long walk along the old order would take more time."""
        shape, late = self.shape, self.late
        latest = late - self.came
        while latest:
            if shape.wrong:
                more = set[int]().union(*map(shape.targets, latest))
            else:
                more = set[int]().union(*map(shape.following.__getitem__, latest))
            latest = more - late
            late |= latest
        self.closed = True

    def _go_on(self, knot: Collection[int]) -> int:
        """Go on behind a knot with what is left, in the order in which it was; answers the place up to which it may not hold.

        Only what follows from nodes that have come since the last start may come earlier now.
        """
        came, shape, order = self.came, self.shape, self.found
        came.update(knot)
        left = [node for node in self.base[self.begin :] if node not in came]
        self.base, self.places = base, places = [*order, *left], self.places.copy()
        for place in range(self.begin, len(base)):
            places[base[place]] = place
        freed = set[int]().union(*map(shape.following.__getitem__, came)).union(node for node, _ in self.strayed)
        strayed: list[Strayed] = []
        for node in freed.intersection(left):
            first = first_place(shape, node, base, places, len(order))
            if first is not None:
                strayed.append(Strayed(node, first))
        self.strayed = strayed
        self._start(len(order))
        return 1 + max((places[node] for node, _ in strayed), default=-1)

    def _wait(self, node: int) -> None:
        """Have a node come once its sources have."""
        places, begin, came = self.places, self.begin, self.came
        sources = {earlier for earlier in self.shape.sources(node) if places[earlier] >= begin and earlier not in came}
        self.waiting[node] = len(sources)
        for source in sources:
            self.watched.setdefault(source, []).append(node)
        if not sources:
            heappush(self.heap, (self.shape.ranks[node], node))

    def _release(self, source: int) -> None:
        """A node has come: those that wait for it need not any more."""
        for node in self.watched.pop(source, ()):
            self.waiting[node] -= 1
            if not self.waiting[node] and node not in self.came:
                heappush(self.heap, (self.shape.ranks[node], node))

    def _arrived(self, nodes: Collection[int]) -> None:
        """Late nodes have come: what follows from them is late as well."""
        came, waiting, late = self.came, self.waiting, self.late
        self.arrived = True
        came.update(nodes)
        for node in self.watched.keys() & nodes if len(nodes) > 1 else nodes:
            self._release(node)
        rows, targets = self.shape.following, set[int]()
        if self.shape.wrong:
            targets.update(*map(self.shape.targets, nodes))
        else:
            targets.update(*map(rows.__getitem__, nodes))
        for target in targets:
            if target not in waiting and target not in came:
                late.add(target)
                self._wait(target)

    def _knot(self) -> list[int]:
        """Nodes that wait for each other and for nothing else."""
        came, begin = self.came, self.begin
        waiting = [node for node, _ in self.strayed if self.places[node] >= begin]
        if not self.arrived and len(waiting) == 1:
            # All that is left follows from this one.
            knot: Collection[int] = self._leading_to(waiting[0])
        else:
            if self.rest is None:
                self.rest = _knots(self.shape, [node for node in self.base[begin:] if node not in came])
            knot = next(knot for knot in self.rest if knot[0] not in came)
        ranked = self.shape.by_rank(knot)
        self.knots.append(ranked)
        return ranked

    def _leading_to(self, node: int) -> set[int]:
        """The late nodes that lead to a late one, itself among them."""
        rows, late = _rows(self.shape), self.late
        reached, latest = {node}, {node}
        while latest:
            latest = (set[int]().union(*map(rows.__getitem__, latest)) & late) - reached
            reached |= latest
        return reached
