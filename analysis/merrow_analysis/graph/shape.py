"""The bare shape of a graph: who leads to whom, in what order. Kept from one edit to the next while no edge changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

from merrow_analysis.graph.reach import components, reach, topological_order


@dataclass(slots=True, eq=False)
class Shape:
    """Nodes and edges by number: edge ``e`` leads from ``sources[e]`` to ``targets[e]``.

    ``following`` and ``before`` are neighbours, ``into`` and ``out_of`` edges, of each node. ``order`` has every
    node, sources first, ties by number; edges inside one of the ``cycles``, into ``inputs``, out of ``outputs`` and
    from a node to itself don't count for it. ``roots`` have no edge in, ``sinks`` none out, ``repeated`` several
    from one source.
    """

    count: int
    sources: list[int]
    targets: list[int]
    inputs: list[int]
    outputs: list[int]
    following: list[list[int]] = field(init=False)
    before: list[list[int]] = field(init=False)
    into: list[list[int]] = field(init=False)
    out_of: list[list[int]] = field(init=False)
    order: list[int] = field(init=False)
    cycles: list[list[int]] = field(init=False)
    roots: list[int] = field(init=False)
    sinks: list[int] = field(init=False)
    repeated: list[int] = field(init=False)
    _reached: tuple[list[int], list[int], bytearray, bytearray] | None = None
    _cuts: list[int] | None = None

    def __post_init__(self) -> None:
        nodes = range(self.count)
        self.following, self.before = [[] for _ in nodes], [[] for _ in nodes]
        self.into, self.out_of = [[] for _ in nodes], [[] for _ in nodes]
        following, before, into, out_of = self.following, self.before, self.into, self.out_of
        for edge, (source, target) in enumerate(zip(self.sources, self.targets, strict=True)):
            following[source].append(target)
            before[target].append(source)
            into[target].append(edge)
            out_of[source].append(edge)
        self.roots = [node for node in nodes if not before[node]]
        self.sinks = [node for node in nodes if not following[node]]
        self.repeated = [node for node in nodes if len(before[node]) > 1 and len(set(before[node])) < len(before[node])]
        self._sort()

    def is_of(self, count: int, sources: list[int], targets: list[int], inputs: list[int], outputs: list[int]) -> bool:
        """Whether this is the shape that these numbers have."""
        return (
            count == self.count
            and sources == self.sources
            and targets == self.targets
            and inputs == self.inputs
            and outputs == self.outputs
        )

    def between(self, starts: list[int], ends: list[int]) -> tuple[bytearray, bytearray]:
        """For each node whether a path leads to it from ``starts``, and whether one leads from it to ``ends``."""
        if self._reached is None or self._reached[0] != starts or self._reached[1] != ends:
            self._reached = (starts, ends, reach(self.following, starts), reach(self.before, ends))
        return self._reached[2], self._reached[3]

    @property
    def cuts(self) -> list[int]:
        """Nodes other than inputs and outputs that no path passes by, in topological order.

        Linear: each edge between such nodes is counted over the places in the order that it spans.
        """
        if self._cuts is None:
            rims = {*self.inputs, *self.outputs}
            place = [0] * self.count
            for number, node in enumerate(self.order):
                place[node] = number
            passing = [0] * (self.count + 1)
            for source, target in zip(self.sources, self.targets, strict=True):
                if source not in rims and target not in rims and place[target] - place[source] > 1:
                    passing[place[source] + 1] += 1
                    passing[place[target]] -= 1
            spanned = accumulate(passing)
            self._cuts = [
                node for node, over in zip(self.order, spanned, strict=False) if not over and node not in rims
            ]
        return self._cuts

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
