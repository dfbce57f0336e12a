"""The bare shape of a graph: who leads to whom, in what order. Shapes are never changed; versions share what stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, compress
from math import inf
from operator import eq, sub

from merrow_analysis.graph.bare.order import Draft, ordered

Row = list[int]
Rows = Mapping[int, Row]
"""Neighbours of some nodes, by the nodes' handles."""
_NONE: Row = []
NO_RANK = inf
_FEW = 12
"""New nodes that are put into an order one by one; with more it is made of nothing, which is faster."""


@dataclass(slots=True, eq=False)
class Shape:
    """Nodes by handle: ``following`` and ``before`` have the neighbours of each, in the order of the edges.

    ``ranks`` says in which order nodes are first mentioned (`NO_RANK`: there is no node with this handle). ``order`` has every
    node, sources first, ties by rank; edges inside one of the ``cycles``, into ``inputs``, out of ``outputs`` and from a
    node to itself do not count for it (`merrow_analysis.graph.bare.order`). ``wrong`` are the nodes into which an edge of one of
    the last three kinds leads;
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
    _inner: tuple[list[int], list[int]] | None = None
    """For each node how many edges lead into it and out of it, of those between nodes other than inputs and outputs."""
    _rims: frozenset[int] | None = None
    _sides: tuple[frozenset[int], frozenset[int]] | None = None

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.order)

    @property
    def places(self) -> list[int]:
        """Each node's place in ``order``, by handle."""
        if self._places is None:
            self._places = _placed(self.order, len(self.ranks))
        return self._places

    @property
    def _ends(self) -> tuple[frozenset[int], frozenset[int]]:
        """Inputs, and outputs."""
        if self._sides is None:
            self._sides = frozenset(self.inputs), frozenset(self.outputs)
        return self._sides

    @property
    def boundary(self) -> frozenset[int]:
        """Inputs and outputs."""
        if self._rims is None:
            self._rims = frozenset().union(*self._ends)
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

    def sources(self, node: int) -> Row:
        """Where the edges into a node begin that count for the order."""
        if node not in self.wrong:
            return self.before[node]
        inputs, outputs = self._ends
        if node in inputs:
            return []
        return [source for source in self.before[node] if source != node and source not in outputs]

    def targets(self, node: int) -> Collection[int]:
        """Where the edges out of a node lead that count for the order, each target once."""
        row = self.following[node]
        if self.wrong and row:
            inputs, outputs = self._ends
            return set() if node in outputs else {target for target in row if target != node and target not in inputs}
        return row if len(row) < 2 else set(row)

    @property
    def cuts(self) -> list[int]:
        """Nodes other than inputs and outputs that no path passes by, in topological order. Linear.

        Nothing passes a node by where all edges that lead on from it or from nodes before it begin at itself.
        """
        if self._cuts is None:
            if self._inner is None:
                self._inner = [0] * len(self.before), [0] * len(self.before)
                self._count_inner(self._inner, self.order)
            into, out = self._inner
            leaving = list(map(out.__getitem__, self.order))
            open_edges = accumulate(map(sub, leaving, map(into.__getitem__, self.order)))
            boundary = self.boundary
            self._cuts = [node for node in compress(self.order, map(eq, open_edges, leaving)) if node not in boundary]
        return self._cuts

    def _count_inner(self, inner: tuple[list[int], list[int]], nodes: Iterable[int]) -> None:
        boundary = self.boundary
        for counts, rows in zip(inner, (self.before, self.following), strict=True):
            for node in nodes:
                counts[node] = (
                    0 if node in boundary else sum([other not in boundary and other != node for other in rows[node]])
                )

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
        if not rims_hold or reordered:
            shape._note(range(len(ranks)), ())
            shape._order(None)
            return shape
        shape._rims, shape._sides = self._rims, self._sides
        shape._note(touched, gone)
        if self._inner is not None:
            into, out = self._inner
            shape._inner = [*into, *[0] * missing], [*out, *[0] * missing]
            shape._count_inner(shape._inner, (*touched, *gone))
        ordered_births = _sources_first(shape, born)
        if ordered_births is None:
            shape._order(None)
        elif (draft := self._draft(shape, ordered_births, gone, before)) is not None:
            shape._order(draft)
        else:
            shape._places = self._places
        return shape

    def _order(self, draft: Draft | None) -> None:
        """Set the order: that of a draft brought up to date, or one out of nothing."""
        if draft is None:
            nodes = [node for node, rank in enumerate(self.ranks) if rank != NO_RANK]
            draft = Draft(nodes, _placed(nodes, len(self.ranks)), 0, len(nodes))
        order = draft.order
        if draft.begin < draft.until or draft.cycles:
            order, self.cycles = ordered(self, draft)
        same = order == draft.order
        self.order, self._places = (draft.order, draft.places) if same else (order, None)

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

    def _draft(self, shape: Shape, born: Collection[int], gone: Collection[int], before: Rows) -> Draft | None:
        """What to make the order of ``shape`` of, in which the nodes ``born`` come, sources first; None where it is this one's.

        Where an edge is gone its target may come earlier: not before the last of its sources that stay, and from there on only
        if its rank is smaller than that of a node which came before it so far, or nodes wait for each other. Where an edge came
        from a node that is later in the order, its target comes later. A new node comes behind the last of its sources, before
        the first node of a greater rank.
        """
        ranks = shape.ranks
        order, places = self.order, self.places
        begin, until = len(order), 0
        if gone or born:
            lost = [places[node] for node in gone]
            until = max(lost, default=0) if self.cycles else 0
            order = [node for node in order if node not in gone] if len(gone) > 1 else order.copy()
            if len(gone) == 1:
                del order[lost[0]]
            places = _placed(order, len(ranks))
            for node in born:
                at = max((places[source] for source in shape.sources(node)), default=-1) + 1
                while not self.cycles and at < len(order) and ranks[order[at]] < ranks[node]:
                    at += 1
                order.insert(at, node)
                begin, until = min(begin, at), max(until, at) + 1
                places = _placed(order, len(ranks))
        for target in before:
            own_place = places[target]
            if target in born or own_place < 0:
                continue
            old, new = set(self.sources(target)), set(shape.sources(target))
            if old == new:
                continue
            if any(places[source] > own_place for source in new):
                first = own_place
            else:
                first = max(map(places.__getitem__, new), default=-1) + 1
                while not self.cycles and first < own_place and ranks[order[first]] < ranks[target]:
                    first += 1
                if first == own_place and not self.cycles:
                    continue
            begin, until = min(begin, first), max(until, own_place + 1)
        if order is self.order and not until:
            return None
        if self.cycles:
            # Which knot comes first may hang on all that comes later.
            first = min(self.places[node] for knot in self.cycles for node in knot)
            begin = min(begin, max(first - len(gone), 0))
        return Draft(order, places, min(begin, until), min(until, len(order)), tuple(born), self.cycles)


def _sources_first(shape: Shape, born: Collection[int]) -> list[int] | None:
    """Some nodes, each behind those of them that lead to it; None where they wait for each other, or are many."""
    if len(born) > _FEW:
        return None
    waiting, found = list(born), list[int]()
    while waiting:
        ready = [node for node in waiting if not any(source in waiting for source in shape.sources(node))]
        if not ready:
            return None
        found += ready
        waiting = [node for node in waiting if node not in ready]
    return found


def _placed(order: list[int], count: int) -> list[int]:
    """The places of nodes in an order, by handle; -1 for other handles."""
    places = [-1] * count
    for place, node in enumerate(order):
        places[node] = place
    return places


EMPTY_SHAPE = Shape([], [], [], [], [], [], [], frozenset(), frozenset(), frozenset(), frozenset(), frozenset())
