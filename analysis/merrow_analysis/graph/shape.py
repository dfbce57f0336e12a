"""The bare shape of a graph: who leads to whom, in what order. Shapes are never changed; versions share what stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import accumulate, compress
from math import inf
from operator import not_

from merrow_analysis.graph.reach import components

Row = list[int]
Rows = Mapping[int, Row]
"""Neighbours of some nodes, by the nodes' handles."""
_NONE: Row = []
NO_RANK = inf


@dataclass(slots=True, eq=False)
class Shape:
    """Nodes by handle: ``following`` and ``before`` have the neighbours of each, in the order of the edges.

    ``ranks`` says in which order nodes are first mentioned (`NO_RANK`: there is no node with this handle). ``order`` has every
    node, sources first, ties by rank; edges inside one of the ``cycles``, into ``inputs``, out of ``outputs`` and from a
    node to itself don't count for it. ``wrong`` are the nodes into which an edge of one of the last three kinds leads;
    ``roots`` have no edge in, ``sinks`` none out, ``repeated`` several from one source, ``wide`` several in and out.
    """

    ranks: list[float]
    inputs: list[int]
    outputs: list[int]
    following: list[Row]
    before: list[Row]
    order: list[int]
    cycles: list[list[int]]
    wrong: frozenset[int]
    roots: frozenset[int]
    sinks: frozenset[int]
    repeated: frozenset[int]
    wide: frozenset[int]
    _cuts: list[int] | None = None
    _places: list[int] | None = None
    _passing: list[int] | None = None
    _rims: frozenset[int] | None = field(default=None)

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.order)

    @property
    def places(self) -> list[int]:
        """Each node's place in ``order``, by handle."""
        if self._places is None:
            places = [-1] * len(self.ranks)
            for place, node in enumerate(self.order):
                places[node] = place
            self._places = places
        return self._places

    @property
    def rims(self) -> frozenset[int]:
        """Inputs and outputs."""
        if self._rims is None:
            self._rims = frozenset((*self.inputs, *self.outputs))
        return self._rims

    def by_rank(self, nodes: Iterable[int]) -> list[int]:
        """Nodes in the order of their first mention."""
        return sorted(nodes, key=self.ranks.__getitem__)

    def is_reached(self, starts: Collection[int], node: int, known: dict[int, bool]) -> bool:
        """Whether a path leads to ``node`` from one of ``starts``. ``known`` keeps answers for the next questions."""
        if node in known:
            return known[node]
        seen: dict[int, None] = {node: None}
        stack = [node]
        found = False
        while stack:
            at = stack.pop()
            if at in starts or known.get(at):
                found = True
                break
            if at in known:
                continue
            for source in self.before[at]:
                if source not in seen:
                    seen[source] = None
                    stack.append(source)
        if found:
            known[node] = True
        else:
            known.update(dict.fromkeys(seen, False))
        return found

    @property
    def cuts(self) -> list[int]:
        """Nodes other than inputs and outputs that no path passes by, in topological order.

        Linear: each edge between such nodes is counted over the places in the order that it spans.
        """
        if self._cuts is None:
            if self._passing is None:
                self._passing = [0] * (len(self.order) + 1)
                rims = self.rims
                edges = ((s, t) for s in self.order if s not in rims for t in self.following[s])
                self._count_passing(self._passing, edges, 1)
            clear = map(not_, accumulate(self._passing))
            rims = self.rims
            self._cuts = [node for node in compress(self.order, clear) if node not in rims]
        return self._cuts

    def _count_passing(self, passing: list[int], edges: Iterable[tuple[int, int]], by: int) -> None:
        """Count ``edges`` where they start and where they stop passing over places in the order."""
        rims, place = self.rims, self.places
        for source, target in edges:
            if source not in rims and target not in rims and place[target] - place[source] > 1:
                passing[place[source] + 1] += by
                passing[place[target]] -= by

    def changed(
        self,
        ranks: list[float],
        inputs: list[int],
        outputs: list[int],
        following: Rows,
        before: Rows,
        born: Collection[int],
        gone: Collection[int],
        reordered: bool,
    ) -> Shape:
        """The shape where the nodes ``born`` came and ``gone`` went, and rows differ. ``reordered`` says that nodes that were
        there have other ranks than before, relative to each other.
        """
        after_following, after_before = self.following.copy(), self.before.copy()
        missing = len(ranks) - len(after_before)
        after_following.extend([_NONE] * missing)
        after_before.extend([_NONE] * missing)
        for node, row in following.items():
            after_following[node] = row
        for node, row in before.items():
            after_before[node] = row
        rims_hold = inputs == self.inputs and outputs == self.outputs
        shape = Shape(
            ranks,
            inputs,
            outputs,
            after_following,
            after_before,
            self.order,
            self.cycles,
            self.wrong,
            self.roots,
            self.sinks,
            self.repeated,
            self.wide,
        )
        touched = {*following, *before, *born}
        if rims_hold:
            shape._rims = self._rims
            shape._note(touched, gone)
        else:
            shape._note(range(len(ranks)), ())
        order = self._order_after(shape, born, gone, before) if rims_hold and not reordered else None
        if order is None:
            shape._sort()
            return shape
        shape.order = order
        if order is self.order:
            shape._places = self._places
            if self._passing is not None:
                passing = self._passing.copy()
                shape._count_passing(passing, self._edges_into(before), -1)
                shape._count_passing(passing, shape._edges_into(before), 1)
                shape._passing = passing
        return shape

    def _edges_into(self, nodes: Iterable[int]) -> Iterable[tuple[int, int]]:
        return ((source, node) for node in nodes for source in self.before[node])

    def _note(self, nodes: Iterable[int], gone: Iterable[int]) -> None:
        """Bring the sets of nodes of a kind up to date where ``nodes`` have other rows."""
        ranks, following, before = self.ranks, self.following, self.before
        inputs, outputs = set(self.inputs), set(self.outputs)
        wrong, roots, sinks, repeated, wide = (
            set(self.wrong),
            set(self.roots),
            set(self.sinks),
            set(self.repeated),
            set(self.wide),
        )
        for node in (*nodes, *gone):
            there = ranks[node] != NO_RANK
            row, out = before[node], following[node]
            is_wrong = bool(row) and (node in inputs or node in row or (bool(outputs) and not outputs.isdisjoint(row)))
            for kind, holds in (
                (wrong, is_wrong),
                (roots, not row),
                (sinks, not out),
                (repeated, len(row) > 1 and len(set(row)) < len(row)),
                (wide, len(row) > 2 and len(out) > 2),
            ):
                if holds and there:
                    kind.add(node)
                else:
                    kind.discard(node)
        for name, kind in (
            ("wrong", wrong),
            ("roots", roots),
            ("sinks", sinks),
            ("repeated", repeated),
            ("wide", wide),
        ):
            if kind != getattr(self, name):
                setattr(self, name, frozenset(kind))

    def _order_after(
        self, shape: Shape, born: Collection[int], gone: Collection[int], before: Rows
    ) -> list[int] | None:
        """The order of ``shape``, derived from this one's; None where it must be sorted.

        It is the first of all orders that put sources before targets. A new edge that goes along with it only forbids
        other orders. Where an edge is gone its target may come earlier: not before the last of its sources that stay, and from
        there on only if its rank is smaller than that of a node which came before it so far. A new node comes behind the
        last of its sources, before the first node of a greater rank.
        """
        if self.cycles or len(born) > 1:
            return None
        inputs, outputs, ranks = set(shape.inputs), set(shape.outputs), shape.ranks
        order = self.order
        if gone:
            order = [node for node in order if node not in gone] if len(gone) > 1 else order.copy()
            if len(gone) == 1:
                order.remove(next(iter(gone)))
        places = self.places if order is self.order else None
        for node in born:
            sources = [source for source in shape.before[node] if source not in outputs and source != node]
            if node in inputs:
                sources = []
            at = max(map(order.index, sources), default=-1) + 1
            rank = ranks[node]
            while at < len(order) and ranks[order[at]] < rank:
                at += 1
            if order is self.order:
                order = order.copy()
            order.insert(at, node)
            places = None
        if places is None:
            places = [-1] * len(ranks)
            for place, node in enumerate(order):
                places[node] = place
            shape._places = places
        for target, row in before.items():
            if target in inputs or target in born or places[target] < 0:
                continue
            old, new = set(self.before[target]), set(row)
            own_place = places[target]
            if any(places[source] > own_place for source in new - old if source not in outputs):
                return self._unsorted(shape)
            if old <= new:
                continue
            staying = (places[source] for source in new if source not in outputs and source != target)
            rank = ranks[target]
            if any(ranks[node] > rank for node in order[max(staying, default=-1) + 1 : own_place]):
                return self._unsorted(shape)
        return order

    @staticmethod
    def _unsorted(shape: Shape) -> None:
        shape._places = None

    def _sort(self) -> None:
        """Compute the order from nothing (Kahn 1962, with a heap of ranks)."""
        ranks, following = self.ranks, self.following
        no_entry, no_exit = set(self.inputs), set(self.outputs)
        nodes = [node for node, rank in enumerate(ranks) if rank != NO_RANK]
        counted = following
        if self.wrong:
            counted = following.copy()
            for node in {source for target in self.wrong for source in self.before[target]}:
                counted[node] = (
                    [] if node in no_exit else [one for one in following[node] if one not in no_entry and one != node]
                )
        waiting = [0] * len(ranks)
        for row in counted:
            for target in row:
                waiting[target] += 1
        by_rank = {ranks[node]: node for node in nodes}
        ready = [ranks[node] for node in nodes if not waiting[node]]
        heapify(ready)
        order: list[int] = []
        while ready:
            node = by_rank[heappop(ready)]
            order.append(node)
            for target in counted[node]:
                waiting[target] -= 1
                if not waiting[target]:
                    heappush(ready, ranks[target])
        self.cycles = []
        if len(order) < len(nodes):
            ordered = set(order)
            rest = components(counted, self.by_rank(node for node in nodes if node not in ordered))
            rest = [self.by_rank(component) for component in rest]
            self.cycles = [component for component in rest if len(component) > 1]
            for component in reversed(rest):
                order += component
        self.order = order
        self._places = self._passing = self._cuts = None


EMPTY_SHAPE = Shape([], [], [], [], [], [], [], frozenset(), frozenset(), frozenset(), frozenset(), frozenset())
