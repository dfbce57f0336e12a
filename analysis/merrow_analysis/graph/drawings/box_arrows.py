"""Arrows to and from the boxes of a drawing, as arrows between the steps in these: in at its beginnings, out at its ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.records import EdgeRecord

MOST_ARROWS = 200_000
"""Arrows that arrows to boxes may become: from a box to a box each end leads to each beginning."""


class Boxes:
    """The boxes of a drawing. ``names`` are its nodes in the order of the text, with boxes that are empty."""

    def __init__(self, groups: Mapping[str, Subgraph], names: Iterable[str]) -> None:
        self._parents = {node: group.id for group in groups.values() for node in group.nodes}
        self._parents.update({name: group.parent for name, group in groups.items() if group.parent is not None})
        self._around: dict[str, tuple[str, ...]] = {}
        self._names = list(names)
        # Each box is walked through once, however deep boxes lie in each other.
        self._filled: set[str] = set()
        for name in self._names:
            at = self._parents.get(name)
            while at is not None and at not in self._filled:
                self._filled.add(at)
                at = self._parents.get(at)

    def is_box(self, name: str) -> bool:
        """Whether a name is that of a box with something in it."""
        return name in self._filled

    def around(self, name: str) -> tuple[str, ...]:
        """The boxes around a node or box, the innermost first."""
        known = self._around.get(name)
        if known is None:
            boxes: dict[str, None] = {}
            at = self._parents.get(name)
            while at is not None and at not in boxes:
                boxes[at] = None
                at = self._parents.get(at)
            known = self._around[name] = tuple(boxes)
        return known

    def inside(self, boxes: Iterable[str]) -> dict[str, list[str]]:
        """By box the steps in it, nested ones too, in the order of the text."""
        within: dict[str, list[str]] = {box: [] for box in boxes}
        for name in self._names if within else ():
            for box in self.around(name):
                if box in within:
                    within[box].append(name)
        return within


@dataclass(frozen=True, slots=True)
class Drawn:
    """Arrows as they are read: those between steps, and the ``own`` ones between a box and something in it, which say nothing."""

    arrows: list[EdgeRecord]
    own: list[EdgeRecord]
    boxed: list[EdgeRecord]
    """Those that lead to or from a box."""
    ends: Mapping[str, tuple[list[str], list[str]]]
    """By box with such arrows the steps at which it is entered, and those at which it is left."""


def between_steps(edges: Sequence[EdgeRecord], boxes: Boxes) -> Drawn:
    """All arrows as arrows between steps, in the order of the text."""
    ends = _ends_of_boxes(edges, boxes)
    drawn = Drawn([], [], [], ends)
    for edge in edges:
        if not boxes.is_box(edge.source) and not boxes.is_box(edge.target):
            drawn.arrows.append(edge)
        elif edge.source in boxes.around(edge.target) or edge.target in boxes.around(edge.source):
            drawn.own.append(edge)
        else:
            drawn.boxed.append(edge)
            for source, target in _pairs(edge, ends, boxes):
                if len(drawn.arrows) < MOST_ARROWS:
                    drawn.arrows.append(replace_ends(edge, source, target))
    return drawn


def replace_ends(edge: EdgeRecord, source: str, target: str) -> EdgeRecord:
    """The same arrow between other nodes."""
    return EdgeRecord(source, target, edge.arrow, edge.block, edge.source_vertex, edge.target_vertex)


def _pairs(
    edge: EdgeRecord, ends: Mapping[str, tuple[list[str], list[str]]], boxes: Boxes
) -> Iterator[tuple[str, str]]:
    sources = ends[edge.source][1] if boxes.is_box(edge.source) else [edge.source]
    targets = ends[edge.target][0] if boxes.is_box(edge.target) else [edge.target]
    return ((source, target) for source in sources for target in targets)


def _ends_of_boxes(edges: Sequence[EdgeRecord], boxes: Boxes) -> dict[str, tuple[list[str], list[str]]]:
    """By box the steps at which it is entered, and those at which it is left: inner boxes first."""
    wanted = {name for edge in edges for name in (edge.source, edge.target) if boxes.is_box(name)}
    if not wanted:
        return {}
    within: dict[str, list[EdgeRecord]] = {name: [] for name in wanted}
    for edge in edges:
        if edge.source != edge.target:
            others = set(boxes.around(edge.target))
            for box in boxes.around(edge.source):
                if box in within and box in others:
                    within[box].append(edge)
    ends: dict[str, tuple[list[str], list[str]]] = {}
    inside = boxes.inside(wanted)
    for name in sorted(wanted, key=lambda box: -len(boxes.around(box))):
        members = inside[name]
        led_to: set[str] = set()
        left: set[str] = set()
        for edge in within[name]:
            led_to.update(ends[edge.target][0] if boxes.is_box(edge.target) else (edge.target,))
            left.update(ends[edge.source][1] if boxes.is_box(edge.source) else (edge.source,))
        ends[name] = (
            [member for member in members if member not in led_to] or members[:1],
            [member for member in members if member not in left] or members[-1:],
        )
    return ends
