"""The bare shape of a graph: who leads to whom, in what order. Shapes are never changed; versions share what stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from math import inf
from operator import eq, sub
from typing import NamedTuple

from merrow_analysis.graph.bare.order import Strayed, first_place, ordered, ordered_cold

Row = list[int]
Rows = Mapping[int, Row]
"""Neighbours of some nodes, by the nodes' handles."""
_NONE: Row = []
NO_RANK = inf
_FEW = 12
"""New nodes that are put into an order one by one; with more it is made of nothing, which is faster."""
_MOST_STRAYED = 64
"""Nodes with other sources from which an order is brought up to date; likewise."""


@dataclass(slots=True, eq=False)
class GraphShape:
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
    _kept: Calm | None = None

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
        reached = False
        while stack:
            at = stack.pop()
            if at in starts or known.get(at):
                reached = True
                break
            if at in known:
                continue
            for source in self.before[at]:
                if source not in seen:
                    seen[source] = None
                    stack.append(source)
        if reached:
            known[node] = True
        else:
            known.update(dict.fromkeys(seen, False))
        return reached

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
    ) -> GraphShape:
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
        shape = GraphShape(
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
            shape._order()
            return shape
        shape._rims, shape._sides = self._rims, self._sides
        shape._note(touched, gone)
        if self._inner is not None:
            into, out = self._inner
            shape._inner = [*into, *[0] * missing], [*out, *[0] * missing]
            shape._count_inner(shape._inner, (*touched, *gone))
        self._reorder(shape, born, gone, before)
        return shape

    def _reorder(self, shape: GraphShape, born: Collection[int], gone: Collection[int], before: Rows) -> None:
        """Set the order of ``shape``, in which ``born`` came, ``gone`` went, and the nodes in ``before`` have other sources."""
        calm, changed, came, went = self._calm()
        known = calm.places
        changed = changed.union(before)
        came = [*(node for node in came if node not in gone), *born]
        went = went.union(node for node in gone if node < len(known) and known[node] >= 0)
        births = _sources_first(shape, came)
        if births is None or len(changed) > _MOST_STRAYED:
            shape._order()
            return
        order, places = calm._with_nodes(shape, births, went)
        strayed: list[Strayed] = []
        differing: list[int] = []
        for node in changed:
            if shape.ranks[node] == NO_RANK or node in births or set(calm.sources(node)) == set(shape.sources(node)):
                continue
            differing.append(node)
            first = first_place(shape, node, order, places)
            if first is not None:
                strayed.append(Strayed(node, first))
        if strayed:
            before_it = order
            order, shape.cycles = ordered(shape, order, places, strayed)
            if order == before_it:
                order = before_it
        else:
            before_it, shape.cycles = order, []
        if order == self.order:
            shape.order, shape._places = self.order, self._places
        else:
            shape.order, shape._places = order, places if order is before_it else None
        if shape.cycles:
            shape._kept = Calm(calm, frozenset(differing), births, went)

    def _calm(self) -> Calm:
        """A shape without cycles, and how this one differs from it."""
        if not self.cycles:
            return Calm(self)
        if self._kept is None:
            self._kept = self._untied()
        return self._kept

    def _untied(self) -> Calm:
        """This shape without the edges of cycles that lead back in its order."""
        places = self.places
        following, before = self.following.copy(), self.before.copy()
        cut: set[int] = set()
        for knot in self.cycles:
            for node in knot:
                late = {source for source in self.sources(node) if places[source] > places[node]}
                if late:
                    cut.add(node)
                    before[node] = [source for source in before[node] if source not in late]
                    for source in late:
                        following[source] = [target for target in following[source] if target != node]
        none: frozenset[int] = frozenset()
        calm = GraphShape(
            self.ranks, self.inputs, self.outputs, following, before, [], [], self.wrong, none, none, none, none
        )
        calm._order()
        return Calm(calm, frozenset(cut))

    def _with_nodes(
        self, shape: GraphShape, births: Sequence[int], gone: Collection[int]
    ) -> tuple[list[int], list[int]]:
        """The order without the nodes ``gone``, and with ``births``: each behind the last of its sources in ``shape``, before the
        first node of a greater rank. And the places in it.
        """
        order, places, ranks = self.order, self.places, shape.ranks
        if not (births or gone):
            return order, places
        order = [node for node in order if node not in gone] if gone else order.copy()
        places = _placed(order, len(ranks)) if gone else [*places, *[-1] * (len(ranks) - len(places))]
        for node in births:
            at = max((places[source] for source in shape.sources(node)), default=-1) + 1
            while at < len(order) and ranks[order[at]] < ranks[node]:
                at += 1
            order.insert(at, node)
            for place in range(at, len(order)):
                places[order[place]] = place
        return order, places

    def _order(self) -> None:
        """Set the order, made of nothing."""
        nodes = [node for node, rank in enumerate(self.ranks) if rank != NO_RANK]
        self.order, self.cycles = ordered_cold(self, nodes)
        self._places = None

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


class Calm(NamedTuple):
    """A shape without cycles, and how another one differs: ``changed`` may have other sources, ``born`` came, ``gone`` went."""

    shape: GraphShape
    changed: frozenset[int] = frozenset()
    born: Sequence[int] = ()
    gone: frozenset[int] = frozenset()


def _sources_first(shape: GraphShape, born: Collection[int]) -> list[int] | None:
    """Some nodes, each behind those of them that lead to it; None where they wait for each other, or are many."""
    if len(born) > _FEW:
        return None
    waiting, sequence = list(born), list[int]()
    while waiting:
        ready = [node for node in waiting if not any(source in waiting for source in shape.sources(node))]
        if not ready:
            return None
        sequence += ready
        waiting = [node for node in waiting if node not in ready]
    return sequence


def _placed(order: list[int], count: int) -> list[int]:
    """The places of nodes in an order, by handle; -1 for other handles."""
    places = [-1] * count
    for place, node in enumerate(order):
        places[node] = place
    return places


EMPTY_SHAPE = GraphShape([], [], [], [], [], [], [], frozenset(), frozenset(), frozenset(), frozenset(), frozenset())
