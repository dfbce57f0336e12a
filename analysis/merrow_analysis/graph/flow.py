"""Statements folded into the flowchart they draw: nodes, edges, classes, subgraphs, each with its places.

This is Mermaid's own reading of the file, before Merrow looks for operators and ports in it. `fold` makes it in one pass over
the blocks; the objects here are made anew at each fold, the blocks and syntax objects they point to live on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from merrow_analysis.syntax.tree import Arrow, Block, ClassAssign, ClassDef, Header, Label, Metadata, Name, Vertex
from merrow_analysis.text import Range


@dataclass(slots=True)
class ClassUse:
    """A class given to a node, by ``class A name`` or ``A:::name``."""

    name: Name
    block: Block
    statement: ClassAssign | None

    @property
    def range(self) -> Range:
        return self.block.range(self.name.span)


@dataclass(slots=True)
class Mention:
    """A node where it is written: a declaration when it says a shape, label or metadata, else a mere reference."""

    vertex: Vertex
    block: Block

    @property
    def declares(self) -> bool:
        vertex = self.vertex
        return vertex.shape is not None or vertex.metadata is not None

    @property
    def range(self) -> Range:
        """Where the id stands."""
        return self.block.range(self.vertex.name.span)


@dataclass(slots=True, eq=False)
class FlowNode:
    """A node: its last label and shape win, classes and metadata add up, as in Mermaid."""

    id: str
    index: int
    mentions: list[Mention] = field(default_factory=list)
    classes: list[ClassUse] = field(default_factory=list)
    label: Label | None = None
    label_block: Block | None = None
    shape: str | None = None
    metadata: list[tuple[Metadata, Block]] = field(default_factory=list)
    incoming: list[FlowEdge] = field(default_factory=list)
    outgoing: list[FlowEdge] = field(default_factory=list)

    @property
    def range(self) -> Range:
        """The id in the first declaration, or in the first mention where nothing declares the node."""
        for mention in self.mentions:
            if mention.declares:
                return mention.range
        return self.mentions[0].range


@dataclass(slots=True, eq=False)
class FlowEdge:
    """One edge; a statement ``A & B --> C`` makes two that share their arrow."""

    index: int
    source: FlowNode
    target: FlowNode
    arrow: Arrow
    block: Block
    source_vertex: Vertex
    target_vertex: Vertex

    @property
    def range(self) -> Range:
        """The arrow with its label."""
        return self.block.range(self.arrow.span)

    @property
    def carries_nothing(self) -> bool:
        """An invisible link ``~~~`` only lays out."""
        return self.arrow.stroke == "invisible"


@dataclass(slots=True)
class ClassDefUse:
    name: Name
    definition: ClassDef
    block: Block

    @property
    def range(self) -> Range:
        return self.block.range(self.name.span)


@dataclass(slots=True)
class Subgraph:
    """A subgraph; ``nodes`` are the ids directly or indirectly first claimed by it, in Mermaid's order."""

    id: str
    title: str
    nodes: list[str]
    direction: str | None
    block: Block
    name: Name | None
    parent: str | None = None
    metadata: list[tuple[Metadata, Block]] = field(default_factory=list)
    classes: list[ClassUse] = field(default_factory=list)


@dataclass(slots=True)
class EdgeMetadata:
    """``e1@{ ... }`` for an edge id."""

    edge: FlowEdge
    metadata: Metadata
    block: Block


@dataclass(slots=True, eq=False)
class Flow:
    """The flowchart of one text."""

    header: Header | None = None
    direction: str = "TB"
    nodes: dict[str, FlowNode] = field(default_factory=dict)
    edges: list[FlowEdge] = field(default_factory=list)
    class_defs: dict[str, list[ClassDefUse]] = field(default_factory=dict)
    class_assigns: list[tuple[ClassAssign, Block]] = field(default_factory=list)
    subgraphs: dict[str, Subgraph] = field(default_factory=dict)
    edge_metadata: list[EdgeMetadata] = field(default_factory=list)
    edge_ids: dict[str, FlowEdge] = field(default_factory=dict)
