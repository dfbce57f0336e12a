"""What a flowchart's statements say of its nodes and edges, apart from where in the file they are.

Records are never changed: an edit puts others in their place, and all versions of a flowchart share those that stay. They
refer to blocks as these were first read (`Block.origin`); `Flow.here` says where such a block is in one version of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from merrow_analysis.syntax.tree import Arrow, Block, ClassAssign, Label, Metadata, Name, Vertex


class MentionRecord(NamedTuple):
    """A node where it is written."""

    vertex: Vertex
    block: Block


class ClassRecord(NamedTuple):
    """A class given to a node; ``statement`` is None where ``:::`` gives it."""

    name: Name
    block: Block
    statement: ClassAssign | None


@dataclass(slots=True, eq=False)
class WrittenNode:
    """All that is written at one node; see `FlowNode`."""

    id: str
    mentions: Sequence[MentionRecord]
    classes: Sequence[ClassRecord] = ()
    label: Label | None = None
    label_block: Block | None = None
    shape: str | None = None
    metadata: Sequence[tuple[Metadata, Block]] = ()


@dataclass(slots=True, eq=False)
class EdgeRecord:
    """One edge, from and to nodes by id; see `FlowEdge`."""

    source: str
    target: str
    arrow: Arrow
    block: Block
    source_vertex: Vertex
    target_vertex: Vertex

    @property
    def label_text(self) -> str | None:
        """What its label says; None where that is nothing."""
        label = self.arrow.label
        return label.text.strip() or None if label is not None else None

    @property
    def carries_nothing(self) -> bool:
        """An invisible link ``~~~`` only lays out."""
        return self.arrow.stroke == "invisible"


Rows = dict[str, list[EdgeRecord]]
"""The edges into, or out of, each node that has any, in the order of the text."""


class Splice(NamedTuple):
    """Edges ``added`` in place of ``removed`` ones, which start at number ``start``."""

    start: int
    removed: int
    added: Sequence[EdgeRecord]


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """The way from one chart to another.

    ``nodes`` has the new record of each node that changed, came (it is placed before ``before[id]``, at the end without
    that) or went (None). A node that is both gone and come has moved in the order. ``edges`` are splices of the list
    of edges, by the numbers before any of them, in ascending order; edges at nodes that went must be among the removed.
    """

    nodes: Mapping[str, WrittenNode | None] = field(default_factory=dict)
    before: Mapping[str, str | None] = field(default_factory=dict)
    edges: Sequence[Splice] = ()


@dataclass(slots=True, eq=False)
class Chart:
    """Nodes and edges as drawn: records in the order of first mention, edges in the order of the text. Never changed."""

    nodes: dict[str, WrittenNode] = field(default_factory=dict)
    edges: list[EdgeRecord] = field(default_factory=list)
    incoming: Rows = field(default_factory=dict)
    outgoing: Rows = field(default_factory=dict)
    _numbers: dict[EdgeRecord, int] | None = None
    _following: dict[str, str | None] | None = None
    _classes: dict[str, int] | None = None

    @property
    def classes(self) -> Mapping[str, int]:
        """The names of the classes that nodes have, and how often they are given."""
        if self._classes is None:
            self._classes = {}
            _count(self._classes, self.nodes.values(), 1)
        return self._classes

    @property
    def numbers(self) -> dict[EdgeRecord, int]:
        """Each edge's place among ``edges``."""
        if self._numbers is None:
            self._numbers = dict(zip(self.edges, range(len(self.edges)), strict=True))
        return self._numbers

    @property
    def following(self) -> dict[str, str | None]:
        """For each node the next one in the order of first mention, None for the last."""
        if self._following is None:
            names = list(self.nodes)
            self._following = dict(zip(names, [*names[1:], None], strict=True))
        return self._following

    def apply(self, delta: Delta, place: Callable[[EdgeRecord], object] | None = None) -> Chart:
        """The chart with a delta. ``place`` gives something by which edges can be sorted as they are in the text, those of one
        block alike: so not all of them need be numbered.
        """
        nodes, classes = self._nodes(delta), self._classes
        if classes is not None and delta.nodes:
            classes = classes.copy()
            _count(classes, [was for name in delta.nodes if (was := self.nodes.get(name)) is not None], -1)
            _count(classes, [now for now in delta.nodes.values() if now is not None], 1)
        if not delta.edges:
            return Chart(nodes, self.edges, self.incoming, self.outgoing, self._numbers, _classes=classes)
        edges = self.edges.copy()
        gone: list[EdgeRecord] = []
        for start, removed, added in reversed(delta.edges):
            gone += edges[start : start + removed]
            edges[start : start + removed] = added
        come = [edge for splice in delta.edges for edge in splice.added]
        after = Chart(nodes, edges, self.incoming.copy(), self.outgoing.copy(), _classes=classes)
        left = set(gone)
        for rows, end in ((after.incoming, _target), (after.outgoing, _source)):
            coming: dict[str, list[EdgeRecord]] = {end(edge): [] for edge in gone}
            for edge in come:
                coming.setdefault(end(edge), []).append(edge)
            for name, own in coming.items():
                row = [edge for edge in rows.get(name, ()) if edge not in left]
                if own and row:
                    if place is None:
                        place = after.numbers.__getitem__
                    row = sorted((*row, *own), key=place)  # type: ignore[arg-type]  # numbers or places
                elif own:
                    row = own
                if row:
                    rows[name] = row
                else:
                    rows.pop(name, None)
        return after

    def _nodes(self, delta: Delta) -> dict[str, WrittenNode]:
        if not delta.nodes:
            return self.nodes
        if not delta.before and None not in delta.nodes.values():
            nodes = self.nodes.copy()
            nodes.update(delta.nodes)  # type: ignore[arg-type]  # none of them is None
            if len(nodes) == len(self.nodes):
                return nodes
        nodes = self.nodes.copy()
        waiting: dict[str | None, dict[str, WrittenNode]] = {}
        for name, record in delta.nodes.items():
            if record is None or name in delta.before:
                nodes.pop(name, None)
            if record is None:
                continue
            if name in nodes:
                nodes[name] = record
            else:
                waiting.setdefault(delta.before.get(name), {})[name] = record
        if not waiting:
            return nodes
        places: dict[str | None, int] = dict(zip(nodes, range(len(nodes)), strict=True))
        left = iter(nodes.items())
        taken = 0
        after: dict[str, WrittenNode] = {}
        for place, group in sorted(
            ((places.get(follower, len(nodes)), group) for follower, group in waiting.items()),
            key=lambda pair: pair[0],
        ):
            after.update(islice(left, place - taken))
            after.update(group)
            taken = place
        after.update(left)
        return after


def _source(edge: EdgeRecord) -> str:
    return edge.source


def _target(edge: EdgeRecord) -> str:
    return edge.target


def _count(classes: dict[str, int], nodes: Iterable[WrittenNode], step: int) -> None:
    """Count the classes of some nodes, up or down; what nothing has is not there."""
    for node in nodes:
        for given in node.classes:
            name = given.name.text
            count = classes.get(name, 0) + step
            if count:
                classes[name] = count
            else:
                del classes[name]
