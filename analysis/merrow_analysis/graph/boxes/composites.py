"""Composites: the subgraphs of a flowchart that are Loops and Maps, and what it means for an edge to cross their borders.

A subgraph is a composite by its title (``Loop (max: 3)``, ``Map (parallel: 4)``; without parentheses a title is free text), by
the class ``LoopOp`` or ``MapOp``, or by metadata below its ``end`` (``REFINE@{ op: Loop }``). All others only group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.settings import BudgetSettings
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.resolve import NodeParameter

CompositeKind = Literal["loop", "map"]

_TITLE = re.compile(r"\s*(Loop|Map)\s*\(")
_KINDS: Mapping[str, CompositeKind] = {"Loop": "loop", "Map": "map"}
_CLASSES: Mapping[str, CompositeKind] = {"LoopOp": "loop", "MapOp": "map"}


@dataclass(frozen=True, slots=True)
class Composite:
    """A Loop or a Map. ``parent`` is the composite directly around it; subgraphs that only group are passed over.

    ``nodes`` are the ids of the nodes of which it is the innermost composite, in the order of first mention. ``parameters`` are
    those of its title and its metadata. ``implied`` says that no box is written of it: arrows back make it, and each of its turns
    begins at ``head``.
    """

    id: str
    kind: CompositeKind
    parent: str | None
    nodes: tuple[str, ...] = ()
    parameters: Mapping[str, NodeParameter] = field(default_factory=dict)
    implied: bool = False
    head: str | None = None

    @property
    def operator(self) -> str:
        """The name as it is written: ``Loop`` or ``Map``."""
        return "Loop" if self.kind == "loop" else "Map"


class Border(NamedTuple):
    """Which borders an edge crosses. ``scope`` is the innermost composite that holds both ends.

    ``left`` are the composites that it leaves, innermost first; ``entered`` those that it enters, outermost first.
    """

    scope: str | None
    left: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()


_OUTSIDE = Border(None)


@dataclass(frozen=True)
class Composites:
    """The composites of a flowchart by id, outer ones first, and of each node inside any the innermost one."""

    boxes: Mapping[str, Composite] = field(default_factory=dict)
    inside: Mapping[str, str] = field(default_factory=dict)
    _borders: dict[tuple[str | None, str | None], Border] = field(default_factory=dict, compare=False, repr=False)
    _depths: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    _members: dict[str, list[str]] = field(default_factory=dict, compare=False, repr=False)
    _within: dict[str, list[str]] = field(default_factory=dict, compare=False, repr=False)

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def __iter__(self) -> Iterator[Composite]:
        return iter(self.boxes.values())

    def around(self, node: str) -> tuple[str, ...]:
        """The composites around a node, innermost first."""
        return self.chain(self.inside.get(node))

    def chain(self, box: str | None) -> tuple[str, ...]:
        """A composite and those around it, innermost first."""
        names: list[str] = []
        while box is not None:
            names.append(box)
            box = self.boxes[box].parent
        return tuple(names)

    def members(self, box: str) -> list[str]:
        """The ids of all nodes in a composite, those of nested ones included."""
        if not self._members:
            self._members.update({box.id: [] for box in self})
            for other in self:
                for around in self.chain(other.id):
                    self._members[around] += other.nodes
        return self._members[box]

    def within(self, box: str) -> list[str]:
        """The ids of a composite and of those nested in it, outer ones first."""
        if not self._within:
            self._within.update({box.id: [] for box in self})
            for other in self:
                for around in self.chain(other.id):
                    self._within[around].append(other.id)
        return self._within[box]

    def scope(self, source: str, target: str) -> str | None:
        """The innermost composite that holds both nodes."""
        return self.border(source, target).scope

    def border(self, source: str, target: str) -> Border:
        """What an edge from one node to another crosses."""
        begin, end = self.inside.get(source), self.inside.get(target)
        if begin is None and end is None:
            return _OUTSIDE
        known = self._borders.get((begin, end))
        if known is None:
            known = self._borders[begin, end] = self._crossed(begin, end)
        return known

    def _crossed(self, begin: str | None, end: str | None) -> Border:
        """What lies between two composites: no step is made around the innermost one that holds both."""
        if not self._depths:
            for box in self:  # outer ones first
                self._depths[box.id] = 1 if box.parent is None else self._depths[box.parent] + 1
        out, into = [], []
        while begin != end:
            deep, deeper = (0 if box is None else self._depths[box] for box in (begin, end))
            if begin is not None and deep >= deeper:
                out.append(begin)
                begin = self.boxes[begin].parent
            elif end is not None:
                into.append(end)
                end = self.boxes[end].parent
        return Border(begin, tuple(out), tuple(reversed(into)))

    def changed(self, removed: Collection[str], added: Mapping[str, str]) -> Composites:
        """These composites without some nodes, and with new ones: ``added`` has the innermost composite of each."""
        gone = {node for node in removed if node in self.inside}
        if not gone and not added:
            return self
        inside = {node: box for node, box in self.inside.items() if node not in gone} | dict(added)
        members: dict[str, list[str]] = {name: [] for name in self.boxes}
        for node, box in inside.items():
            members[box].append(node)
        return Composites({box.id: replace(box, nodes=tuple(members[box.id])) for box in self}, inside)

    def with_value(self, name: str, key: str, value: object) -> Composites:
        """These composites with another value of a parameter."""
        box = self.boxes[name]
        existing = box.parameters.get(key)
        changed = {**box.parameters, key: NodeParameter(value, None if existing is None else existing.block)}
        return Composites({**self.boxes, name: replace(box, parameters=changed)}, self.inside)

    def with_box(self, name: str, title: str, nodes: Collection[str]) -> Composites:
        """These composites with one more, around nodes that are in the same one now. ``title`` says what it is."""
        match = _TITLE.match(title)
        if match is None:
            raise ValueError(f"{title} is the title of neither a Loop nor a Map")
        parent = next((self.inside[node] for node in nodes if node in self.inside), None)
        values = {key: NodeParameter(parameter.value, None) for key, parameter in parse_label(title).parameters.items()}
        boxes = {
            box.id: replace(box, nodes=tuple([node for node in box.nodes if node not in nodes]))
            if box.id == parent
            else box
            for box in self
        }
        boxes[name] = Composite(name, _KINDS[match[1]], parent, tuple(nodes), values)
        return Composites(boxes, {**self.inside, **dict.fromkeys(nodes, name)})

    def without(self, name: str) -> Composites:
        """These composites without one, whose nodes and inner composites are directly in the one around it."""
        gone = self.boxes[name]
        boxes = {
            box.id: replace(box, parent=gone.parent if box.parent == name else box.parent)
            for box in self
            if box.id != name
        }
        inside = {node: gone.parent if box == name else box for node, box in self.inside.items()}
        kept = {node: box for node, box in inside.items() if box is not None}
        if gone.parent is not None:
            around = boxes[gone.parent]
            boxes[gone.parent] = replace(around, nodes=(*around.nodes, *gone.nodes))
        return Composites(boxes, kept)

    def maps(self, boxes: tuple[str, ...]) -> list[str]:
        """Those of some composites that are Maps."""
        return [box for box in boxes if self.boxes[box].kind == "map"]


NO_COMPOSITES = Composites()


def read_composites(subgraphs: Mapping[str, Subgraph]) -> Composites:
    """The composites among the subgraphs of a flowchart. Never raises."""
    kinds = {name: kind for name, group in subgraphs.items() if (kind := kind_of(group)) is not None}
    if not kinds:
        return NO_COMPOSITES
    innermost: dict[str, str] = {}
    nodes: dict[str, list[str]] = {name: [] for name in kinds}
    depths = _depths(subgraphs)
    for name in sorted(subgraphs, key=lambda group: -depths[group]):
        own = name if name in kinds else _around(subgraphs, name, kinds)
        if own is None:
            continue
        for member in subgraphs[name].nodes:
            if member not in subgraphs and member not in innermost:
                innermost[member] = own
                nodes[own].append(member)
    boxes = {
        name: Composite(
            name, kinds[name], _around(subgraphs, name, kinds), tuple(nodes[name]), parameters_of(subgraphs[name])
        )
        for name in sorted(kinds, key=depths.__getitem__)
    }
    return Composites(boxes, innermost)


def kind_of(group: Subgraph) -> CompositeKind | None:
    """What a subgraph is; None for one that only groups. Metadata takes precedence over classes, and these before the title."""
    kinds = kinds_said(group)
    return kinds[0][1] if kinds else None


def kinds_said(group: Subgraph) -> list[tuple[Literal["metadata", "class", "title"], CompositeKind]]:
    """What the metadata, the classes and the title of a subgraph say that it is, in the order in which they count."""
    kinds: list[tuple[Literal["metadata", "class", "title"], CompositeKind]] = []
    for metadata, _ in reversed(group.metadata):
        op = parse_metadata(metadata.body).values.get("op")
        if isinstance(op, str) and op.strip() in _KINDS:
            kinds.append(("metadata", _KINDS[op.strip()]))
    kinds += [("class", _CLASSES[use.name.text]) for use in reversed(group.classes) if use.name.text in _CLASSES]
    match = _TITLE.match(group.title)
    if match is not None:
        kinds.append(("title", _KINDS[match[1]]))
    return kinds


def parameters_of(group: Subgraph) -> dict[str, NodeParameter]:
    """The parameters that a composite's title and metadata say; metadata takes precedence over the title."""
    parameters: dict[str, NodeParameter] = {}
    if "(" in group.title:
        parameters = {
            key: NodeParameter(parameter.value, None) for key, parameter in parse_label(group.title).parameters.items()
        }
    for number, (metadata, _) in enumerate(group.metadata):
        values = parse_metadata(metadata.body).values
        parameters |= {
            str(key): NodeParameter(value, number) for key, value in values.items() if key not in ("op", "label")
        }
    return parameters


def _enclosing(subgraphs: Mapping[str, Subgraph], name: str) -> Iterator[str]:
    """The subgraphs around one, innermost first."""
    parent = subgraphs[name].parent
    while parent is not None:
        yield parent
        parent = subgraphs[parent].parent


def _depths(subgraphs: Mapping[str, Subgraph]) -> dict[str, int]:
    """How many subgraphs are around each."""
    depths: dict[str, int] = {}
    for name in subgraphs:
        unknown = [name] if name not in depths else []
        for around in _enclosing(subgraphs, name) if unknown else ():
            if around in depths:
                break
            unknown.append(around)
        parent = subgraphs[unknown[-1]].parent if unknown else None
        depth = -1 if parent is None else depths[parent]
        for number, one in enumerate(reversed(unknown), 1):
            depths[one] = depth + number
    return depths


def _around(subgraphs: Mapping[str, Subgraph], name: str, kinds: Mapping[str, CompositeKind]) -> str | None:
    return next((parent for parent in _enclosing(subgraphs, name) if parent in kinds), None)


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """The parameters of a Loop: ``most`` turns; ``until`` and ``best`` are expressions over what its members give; beyond its
    ``budget`` no further turn begins; ``on_error`` is ``fail`` or ``skip``, for a turn that fails.
    """

    most: int = 3
    until: str | None = None
    best: str | None = None
    budget: BudgetSettings | None = None
    on_error: str = "fail"


@dataclass(frozen=True, slots=True)
class MapSettings:
    """The parameters of a Map: so many items at once (None: as the endpoint allows), ``most`` that may come, ``least`` results
    that must come out; ``on_error`` is ``fail``, ``skip`` or ``default``, for an item that fails.
    """

    parallel: int | None = None
    most: int = 100
    least: int = 1
    on_error: str = "fail"


def loop_settings(box: Composite) -> LoopSettings:
    """The parameters of a Loop about which there is no finding; what it doesn't say is as usual."""
    values = {key: parameter.value for key, parameter in box.parameters.items()}
    budget = values.get("budget")
    return LoopSettings(
        int(str(values.get("max", 3))),
        None if values.get("until") is None else str(values["until"]),
        None if values.get("best") is None else str(values["best"]),
        BudgetSettings(**budget) if isinstance(budget, dict) else None,
        str(values.get("on_error", "fail")),
    )


def map_settings(box: Composite) -> MapSettings:
    """The parameters of a Map about which there is no finding; what it doesn't say is as usual."""
    values = {key: parameter.value for key, parameter in box.parameters.items()}
    parallel = values.get("parallel")
    return MapSettings(
        None if parallel is None else int(str(parallel)),
        int(str(values.get("max", 100))),
        int(str(values.get("min", 1))),
        str(values.get("on_error", "fail")),
    )
