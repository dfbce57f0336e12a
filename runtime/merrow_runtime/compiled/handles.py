"""What the lines of a compiled program are about: nodes and edges, as they are written, without what the checker says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from merrow_analysis.graph.boxes.edge_words import EACH, FIRST, OVER
from merrow_analysis.graph.decisions import case_key

Kind = Literal["input", "output", "decision", "operator"]


@dataclass(frozen=True, slots=True)
class Handle:
    """What a line of a program gives to others: a node, or one of its ``output``s, or a ``case`` of a Decision. ``word`` is that
    of a Loop or a Map (`each`, `over`, `first`).
    """

    node: PlainNode
    output: str | None = None
    case: str | None = None
    word: str | None = None

    def __getitem__(self, name: str) -> Handle:
        """A case of a Decision; of another node an output, or a field in one."""
        if self.node.kind == "decision" and self.case is None:
            return replace(self, case=name)
        return replace(self, output=name if self.output is None else f"{self.output}.{name}")


@dataclass(frozen=True, slots=True)
class Either:
    """Handles of which one brings a value to a port that takes one."""

    handles: tuple[Handle, ...]


def either(*handles: Handle) -> Either:
    """The value of the one of these that runs."""
    return Either(handles)


def each(handle: Handle) -> Handle:
    """The items of a list, one for each run of the Map around."""
    return replace(handle, word=EACH)


def over(handle: Handle) -> Handle:
    """What leaves a Loop when it has no turns left."""
    return replace(handle, word=OVER)


def first(handle: Handle) -> Handle:
    """What arrives in the first turn only: in later turns it is replaced by what comes back."""
    return replace(handle, word=FIRST)


@dataclass(eq=False)
class PlainNode:
    """A node. ``said`` is what the program's table says of it; ``incoming`` are the edges into it, ``again_in`` those that
    bring what comes back in the next turn.
    """

    graph: PlainGraph
    index: int
    id: str
    kind: Kind
    said: Mapping[str, Any]
    incoming: list[PlainEdge] = field(default_factory=list)
    again_in: list[PlainEdge] = field(default_factory=list)
    line: int = 0
    """That of the program that makes it, from 1; 0 where it is not known."""

    @property
    def title(self) -> str:
        """What people call it."""
        usual = self.said.get("operator", "Decision") if self.kind in ("operator", "decision") else self.id
        title: str = self.said.get("title", usual)
        return title

    @property
    def asks(self) -> bool:
        """Whether it is a Decision that asks a model."""
        return self.kind == "decision" and self.said["by"] == "model"


@dataclass(eq=False)
class PlainEdge:
    """An edge from what a `Handle` stands for to a node, into its ``port``; None where it brings order alone."""

    handle: Handle
    target: PlainNode
    port: str | None

    @property
    def source(self) -> PlainNode:
        """Where it comes from."""
        return self.handle.node

    @property
    def case(self) -> int | None:
        """The number of its case; None where it has none. Raises `ValueError` where the Decision has no such case."""
        if self.source.kind != "decision" or self.handle.case is None:
            return None
        by = self.source.said["by"]
        keys = [case_key(label, by) for label in self.source.said["cases"]]
        return keys.index(case_key(self.handle.case, by))


@dataclass(frozen=True, slots=True)
class PlainBox:
    """A Loop or a Map inside ``parent``."""

    id: str
    kind: Literal["loop", "map"]
    parent: str | None
    parameters: Mapping[str, Any]


@dataclass(eq=False)
class PlainGraph:
    """The graph of one function of a program. ``inside`` has for nodes the innermost box that they are in."""

    nodes: list[PlainNode] = field(default_factory=list)
    by_id: dict[str, PlainNode] = field(default_factory=dict)
    boxes: dict[str, PlainBox] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, kind: Kind, parameters: Mapping[str, Any], box: str | None) -> PlainNode:
        """Add a node, the last in the order."""
        node = self.by_id[name] = PlainNode(self, len(self.nodes), name, kind, parameters)
        self.nodes.append(node)
        if box is not None:
            self.inside[name] = box
        return node

    def of_kind(self, kind: Kind) -> list[PlainNode]:
        """Its nodes of one kind, in order."""
        return [node for node in self.nodes if node.kind == kind]
