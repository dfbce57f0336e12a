"""The bare shape of a graph: who leads to whom, in what order. Kept from one edit to the next while no edge changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from itertools import accumulate, compress
from operator import not_

from merrow_analysis.graph.reach import components, reach, topological_order

Rows = dict[int, list[int]]
"""Neighbours of some nodes, by the nodes' numbers."""


@dataclass(slots=True, eq=False)
class Shape:
    """Nodes and edges by number: edge ``e`` leads from ``sources[e]`` to ``targets[e]``.

    ``following`` and ``before`` are the neighbours of each node, in the order of the edges. ``order`` has every node,
    sources first, ties by number; edges inside one of the ``cycles``, into ``inputs``, out of ``outputs`` and from a
    node to itself don't count for it: the last three kinds are ``wrong``. ``roots`` have no edge in, ``sinks`` none
    out, ``repeated`` several from one source. Nothing of a shape is ever changed: after an edit, `with_edges` makes
    another one that shares what stays.
    """

    count: int
    sources: list[int]
    targets: list[int]
    inputs: list[int]
    outputs: list[int]
    following: list[list[int]] = field(init=False)
    before: list[list[int]] = field(init=False)
    order: list[int] = field(init=False)
    cycles: list[list[int]] = field(init=False)
    roots: list[int] = field(init=False)
    sinks: list[int] = field(init=False)
    repeated: list[int] = field(init=False)
    wrong: list[int] = field(init=False)
    _reached: tuple[list[int], bytearray] | None = None
    _cuts: list[int] | None = None
    _places: list[int] | None = None
    _passing: list[int] | None = None

    def __post_init__(self) -> None:
        nodes = range(self.count)
        following: list[list[int]] = [[] for _ in nodes]
        before: list[list[int]] = [[] for _ in nodes]
        for source, target in zip(self.sources, self.targets, strict=True):
            following[source].append(target)
            before[target].append(source)
        self.following, self.before = following, before
        self.roots = [node for node, sources in enumerate(before) if not sources]
        self.sinks = [node for node, targets in enumerate(following) if not targets]
        self.repeated = [node for node, sources in enumerate(before) if _repeats(sources)]
        self.wrong = self._wrong_edges(zip(self.sources, self.targets, strict=True), 0)
        self._sort()

    def with_edges(self, start: int, end: int, come: list[tuple[int, int]], following: Rows, before: Rows) -> Shape:
        """The shape of the same nodes where other edges ``come`` in the place of those numbered from ``start`` to ``end``.

        ``following`` and ``before`` are the rows that differ. What the edges away from these say is taken over.
        """
        shape = copy(self)
        gone = list(zip(self.sources[start:end], self.targets[start:end], strict=True))
        shape.sources, shape.targets = self.sources.copy(), self.targets.copy()
        shape.sources[start:end] = [source for source, _ in come]
        shape.targets[start:end] = [target for _, target in come]
        shape.following, shape.before = self.following.copy(), self.before.copy()
        for node, row in following.items():
            shape.following[node] = row
        for node, row in before.items():
            shape.before[node] = row
        shape.roots = _renewed(self.roots, before, lambda row: not row)
        shape.sinks = _renewed(self.sinks, following, lambda row: not row)
        shape.repeated = _renewed(self.repeated, before, _repeats)
        wrong, moved = self.wrong, start + len(come) - end
        after = [number + moved for number in wrong[bisect_left(wrong, end) :]]
        shape.wrong = [*wrong[: bisect_left(wrong, start)], *self._wrong_edges(come, start), *after]
        shape._reached = shape._cuts = None
        if not self._order_holds(before):
            shape._places = shape._passing = None
            shape._sort()
        elif self._passing is not None:
            shape._passing = self._passing.copy()
            shape._count_passing(gone, -1)
            shape._count_passing(come, 1)
        return shape

    def _wrong_edges(self, edges: Iterable[tuple[int, int]], first: int) -> list[int]:
        """Which of ``edges``, counted from ``first`` on, are where none may be."""
        inputs, outputs = set(self.inputs), set(self.outputs)
        return [
            number
            for number, (source, target) in enumerate(edges, first)
            if source == target or target in inputs or source in outputs
        ]

    def _order_holds(self, before: dict[int, list[int]]) -> bool:
        """Whether ``order`` is also that of the graph where these rows of ``before`` are others.

        It is the first of all orders that put sources before targets. A new edge that goes along with it only forbids
        other orders. Where an edge is gone its target may come earlier: not before the last of its sources that stay,
        and from there on only if its number is smaller than that of a node which came before it so far.
        """
        if self.cycles:
            return False
        inputs, outputs, order, places = set(self.inputs), set(self.outputs), self.order, self.places
        for target, row in before.items():
            if target in inputs:
                continue
            old, new = set(self.before[target]), set(row)
            own_place = places[target]
            if any(places[source] > own_place for source in new - old if source not in outputs):
                return False
            if old <= new:
                continue
            staying = (places[source] for source in old & new if source not in outputs and source != target)
            if any(node > target for node in order[max(staying, default=-1) + 1 : own_place]):
                return False
        return True

    def is_of(self, count: int, sources: list[int], targets: list[int], inputs: list[int], outputs: list[int]) -> bool:
        """Whether this is the shape that these numbers have."""
        return (
            count == self.count
            and sources == self.sources
            and targets == self.targets
            and inputs == self.inputs
            and outputs == self.outputs
        )

    def reached(self, starts: list[int]) -> bytearray:
        """For each node whether a path leads to it from ``starts``."""
        if self._reached is None or self._reached[0] != starts:
            self._reached = (starts, reach(self.following, starts))
        return self._reached[1]

    @property
    def places(self) -> list[int]:
        """Each node's place in ``order``."""
        if self._places is None:
            self._places = [0] * self.count
            for place, node in enumerate(self.order):
                self._places[node] = place
        return self._places

    @property
    def cuts(self) -> list[int]:
        """Nodes other than inputs and outputs that no path passes by, in topological order.

        Linear: each edge between such nodes is counted over the places in the order that it spans.
        """
        if self._cuts is None:
            if self._passing is None:
                self._passing = [0] * (self.count + 1)
                self._count_passing(zip(self.sources, self.targets, strict=True), 1)
            rims = {*self.inputs, *self.outputs}
            clear = map(not_, accumulate(self._passing))
            self._cuts = [node for node in compress(self.order, clear) if node not in rims]
        return self._cuts

    def _count_passing(self, edges: Iterable[tuple[int, int]], by: int) -> None:
        """Count ``edges`` where they begin and where they cease to pass over places in the order."""
        rims, place, passing = {*self.inputs, *self.outputs}, self.places, self._passing
        if passing is None:
            return
        for source, target in edges:
            if source not in rims and target not in rims and place[target] - place[source] > 1:
                passing[place[source] + 1] += by
                passing[place[target]] -= by

    def _sort(self) -> None:
        no_entry, no_exit = set(self.inputs), set(self.outputs)
        counted: list[list[int]] = [
            [] if source in no_exit else [target for target in targets if target not in no_entry and target != source]
            for source, targets in enumerate(self.following)
        ]
        self.order, self.cycles = topological_order(counted), []
        if len(self.order) == self.count:
            return
        ordered = set(self.order)
        rest = components(counted, [node for node in range(self.count) if node not in ordered])
        self.cycles = [component for component in rest if len(component) > 1]
        for component in reversed(rest):
            self.order += component


def _renewed(nodes: list[int], rows: Rows, holds: Callable[[list[int]], bool]) -> list[int]:
    """The nodes whose row ``holds``, where it is known which ones these were before ``rows`` changed."""
    kept = [node for node in nodes if node not in rows]
    return sorted((*kept, *(node for node, row in rows.items() if holds(row))))


def _repeats(sources: list[int]) -> bool:
    return len(sources) > 1 and len(set(sources)) < len(sources)
