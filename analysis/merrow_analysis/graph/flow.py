"""The flowchart that a text draws: Mermaid's own reading, before Merrow looks for operators and ports in it.

A `Flowchart` belongs to one version of a text and is never changed. It is a thin view of records that versions share
(`merrow_analysis.graph.records`): the objects for nodes and edges are created on first use and then reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from merrow_analysis.graph.records import Chart, EdgeRecord, WrittenNode
from merrow_analysis.syntax.tree import (
    Arrow,
    Block,
    Chain,
    ClassAssign,
    ClassDef,
    Header,
    Label,
    Metadata,
    Name,
    Vertex,
)
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
    """A mention of a node: a declaration if it has a shape, label or metadata, else a mere reference."""

    vertex: Vertex
    block: Block

    @property
    def declares(self) -> bool:
        return declares(self.vertex)

    @property
    def range(self) -> Range:
        """Where the id is."""
        return self.block.range(self.vertex.name.span)


def declares(vertex: Vertex) -> bool:
    """Whether this mention declares the node."""
    return vertex.shape is not None or vertex.metadata is not None


class FlowNode:
    """A node: its last label and shape win, classes and metadata add up, as in Mermaid."""

    __slots__ = ("_classes", "_flow", "_incoming", "_mentions", "_metadata", "_outgoing", "id", "record")

    def __init__(self, flow: Flowchart, record: WrittenNode) -> None:
        self._flow, self.record, self.id = flow, record, record.id
        self._mentions: list[Mention] | None = None
        self._classes: list[ClassUse] | None = None
        self._metadata: list[tuple[Metadata, Block]] | None = None
        self._incoming: list[FlowEdge] | None = None
        self._outgoing: list[FlowEdge] | None = None

    @property
    def label(self) -> Label | None:
        return self.record.label

    @property
    def label_block(self) -> Block | None:
        block = self.record.label_block
        return None if block is None else self._flow.here(block)

    @property
    def shape(self) -> str | None:
        return self.record.shape

    @property
    def mentions(self) -> list[Mention]:
        """Where the node is written, in the order of the text."""
        if self._mentions is None:
            here = self._flow.here
            self._mentions = [Mention(vertex, here(block)) for vertex, block in self.record.mentions]
        return self._mentions

    @property
    def classes(self) -> list[ClassUse]:
        if self._classes is None:
            here = self._flow.here
            self._classes = [ClassUse(name, here(block), statement) for name, block, statement in self.record.classes]
        return self._classes

    @property
    def metadata(self) -> list[tuple[Metadata, Block]]:
        if self._metadata is None:
            here = self._flow.here
            self._metadata = [(metadata, here(block)) for metadata, block in self.record.metadata]
        return self._metadata

    @property
    def incoming(self) -> list[FlowEdge]:
        if self._incoming is None:
            self._incoming = [self._flow.edge(edge) for edge in self._flow.chart.incoming.get(self.id, ())]
        return self._incoming

    @property
    def outgoing(self) -> list[FlowEdge]:
        if self._outgoing is None:
            self._outgoing = [self._flow.edge(edge) for edge in self._flow.chart.outgoing.get(self.id, ())]
        return self._outgoing

    @property
    def range(self) -> Range:
        """The id in the first declaration, or in the first mention if nothing declares the node."""
        mentions = self.record.mentions
        first = mentions[0]
        for mention in mentions:
            if mention.vertex.shape is not None or mention.vertex.metadata is not None:
                first = mention
                break
        return self._flow.here(first.block).range(first.vertex.name.span)


class FlowEdge:
    """One edge; a statement ``A & B --> C`` makes two that share their arrow."""

    __slots__ = ("_flow", "record")

    def __init__(self, flow: Flowchart, record: EdgeRecord) -> None:
        self._flow, self.record = flow, record

    @property
    def index(self) -> int:
        """Its number among all edges, in text order; implied ones come last."""
        return self._flow.chart.numbers.get(self.record, len(self._flow.chart.edges))

    @property
    def source(self) -> FlowNode:
        return self._flow.nodes[self.record.source]

    @property
    def target(self) -> FlowNode:
        return self._flow.nodes[self.record.target]

    @property
    def arrow(self) -> Arrow:
        return self.record.arrow

    @property
    def block(self) -> Block:
        return self._flow.here(self.record.block)

    @property
    def source_vertex(self) -> Vertex:
        return self.record.source_vertex

    @property
    def target_vertex(self) -> Vertex:
        return self.record.target_vertex

    @property
    def range(self) -> Range:
        """The arrow with its label."""
        return self.block.range(self.record.arrow.span)

    @property
    def carries_nothing(self) -> bool:
        """An invisible link ``~~~`` only affects the layout."""
        return self.record.carries_nothing


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
    """A subgraph; ``nodes`` are the ids directly or indirectly first claimed by it, in Mermaid's order.

    ``label`` is its title where it is written, ``end`` the block of its ``end``. ``refused`` are nodes that are in it alone
    or are declared there, and that a subgraph above has claimed. The first ``early`` blocks of metadata come before its ``end``,
    where Mermaid turns them into a node. ``repeated`` are the blocks of other subgraphs with its id, whose nodes are its own.
    """

    id: str
    title: str
    nodes: list[str]
    direction: str | None
    block: Block
    name: Name | None
    parent: str | None = None
    metadata: list[tuple[Metadata, Block]] = field(default_factory=list)
    classes: list[ClassUse] = field(default_factory=list)
    label: Label | None = None
    end: Block | None = None
    refused: tuple[str, ...] = ()
    early: int = 0
    repeated: tuple[Block, ...] = ()

    @property
    def range(self) -> Range:
        """Where its id is, else its title, else the beginning of its line."""
        if self.name is not None:
            return self.block.range(self.name.span)
        start = len(self.block.text) - len(self.block.text.lstrip())
        return self.block.range((start, start) if self.label is None else self.label.span)


class SubgraphBody(NamedTuple):
    """A subgraph as it is written: its first block and its last one (None where it is never closed), as they were first read.

    ``members`` are the nodes and subgraphs that it mentions itself, in Mermaid's order; ``own`` are those that are listed alone
    or declared in it.
    """

    start: Block
    end: Block | None
    id: str
    members: tuple[str, ...]
    own: tuple[str, ...]


@dataclass(slots=True)
class EdgeMetadata:
    """``e1@{ ... }`` for an edge id."""

    edge: FlowEdge
    metadata: Metadata
    block: Block


class Undrawn(NamedTuple):
    """How many edges a text has that has too many to be read, and the statement that is one too many, in its block."""

    edges: int
    statement: Chain
    block: Block


@dataclass(slots=True, eq=False)
class Scenery:
    """What a flowchart has besides nodes and edges, with blocks as they were first read.

    ``read_subgraphs``, where it is set, gives the subgraphs with the members that they have now; ``subgraphs`` has all else
    that is true of them. ``bodies`` are in the order in which they end; ``boxes`` is derived from ``subgraphs``, with
    these. Where ``undrawn`` is set, none of the edges are read.
    """

    header: Header | None = None
    direction: str = "TB"
    class_defs: dict[str, list[ClassDefUse]] = field(default_factory=dict)
    class_assigns: list[tuple[ClassAssign, Block]] = field(default_factory=list)
    subgraphs: dict[str, Subgraph] = field(default_factory=dict)
    edge_metadata: list[tuple[EdgeRecord, Metadata, Block]] = field(default_factory=list)
    undrawn: Undrawn | None = None
    edge_ids: dict[str, EdgeRecord] = field(default_factory=dict)
    read_subgraphs: Callable[[], dict[str, Subgraph]] | None = None
    bodies: list[SubgraphBody] = field(default_factory=list)
    boxes: tuple[dict[str, Subgraph], object] | None = None
    _assigned: dict[str, list[tuple[ClassAssign, Block, Name]]] | None = None

    @property
    def assigned(self) -> dict[str, list[tuple[ClassAssign, Block, Name]]]:
        """For each id that class statements name, these statements and where they name it."""
        if self._assigned is None:
            self._assigned = {}
            for assign, block in self.class_assigns:
                for name in assign.ids:
                    self._assigned.setdefault(name.text, []).append((assign, block, name))
        return self._assigned


class _Nodes(Mapping[str, FlowNode]):
    """The nodes by id, in the order of their first mention; each object is made when it is first asked for."""

    def __init__(self, flow: Flowchart) -> None:
        self._flow = flow
        self._records = flow.chart.nodes
        self._made: dict[str, FlowNode] = {}

    def __getitem__(self, name: str) -> FlowNode:
        node = self._made.get(name)
        if node is None:
            node = self._made[name] = FlowNode(self._flow, self._records[name])
        return node

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


NO_BLOCK = Block(0, "", (), 0)
"""Used as the last block in a flowchart without blocks."""


class Flowchart:
    """The flowchart of one version of a text. ``moved`` has the blocks that are not where they were first read."""

    def __init__(
        self,
        chart: Chart | None = None,
        scenery: Scenery | None = None,
        moved: Mapping[Block, Block] | None = None,
        last_block: Block = NO_BLOCK,
    ) -> None:
        self.chart = Chart() if chart is None else chart
        self.scenery = Scenery() if scenery is None else scenery
        self.moved: Mapping[Block, Block] = {} if moved is None else moved
        self.last_block = last_block
        """The last lines of the text, below which lines can be added; `NO_BLOCK` only for an empty text."""
        self._edges: dict[EdgeRecord, FlowEdge] = {}

    def let_go(self) -> None:
        """Drop the objects created so far; see `merrow_analysis.graph.nodes.TypedGraph.let_go`."""
        self._edges.clear()
        for name in ("nodes", "edges", "edge_metadata", "edge_ids"):
            self.__dict__.pop(name, None)

    def here(self, block: Block) -> Block:
        """A block of a record where it is in this version of the text."""
        return self.moved.get(block, block)

    def edge(self, record: EdgeRecord) -> FlowEdge:
        """The edge of a record."""
        edge = self._edges.get(record)
        if edge is None:
            edge = self._edges[record] = FlowEdge(self, record)
        return edge

    @property
    def header(self) -> Header | None:
        return self.scenery.header

    @property
    def direction(self) -> str:
        return self.scenery.direction

    @cached_property
    def nodes(self) -> Mapping[str, FlowNode]:
        """The nodes by id, in the order of their first mention."""
        return _Nodes(self)

    @cached_property
    def edges(self) -> list[FlowEdge]:
        """All edges, in the order of the text."""
        return [self.edge(record) for record in self.chart.edges]

    @cached_property
    def class_defs(self) -> dict[str, list[ClassDefUse]]:
        if not self.moved:
            return self.scenery.class_defs
        return {
            name: [replace(use, block=self.here(use.block)) for use in uses]
            for name, uses in self.scenery.class_defs.items()
        }

    @cached_property
    def class_assigns(self) -> list[tuple[ClassAssign, Block]]:
        if not self.moved:
            return self.scenery.class_assigns
        return [(assign, self.here(block)) for assign, block in self.scenery.class_assigns]

    @cached_property
    def groups(self) -> dict[str, Subgraph]:
        """The subgraphs; their lists of members may be out of date."""
        if not self.moved:
            return self.scenery.subgraphs
        return {name: _placed(subgraph, self.here) for name, subgraph in self.scenery.subgraphs.items()}

    @cached_property
    def subgraphs(self) -> dict[str, Subgraph]:
        scenery = self.scenery
        if scenery.read_subgraphs is not None:
            scenery.subgraphs, scenery.read_subgraphs = scenery.read_subgraphs(), None
        if not self.moved:
            return scenery.subgraphs
        return {name: _placed(subgraph, self.here) for name, subgraph in scenery.subgraphs.items()}

    @cached_property
    def claimed(self) -> dict[str, Subgraph]:
        """The innermost subgraph that each node or subgraph is in, by its id; Mermaid has each in one."""
        return {node: group for group in self.subgraphs.values() for node in group.nodes}

    def around(self, node: str) -> Iterator[Subgraph]:
        """The subgraphs around a node, the innermost first."""
        at = self.claimed.get(node)
        while at is not None:
            yield at
            at = None if at.parent is None else self.subgraphs.get(at.parent)

    @cached_property
    def edge_metadata(self) -> list[EdgeMetadata]:
        return [
            EdgeMetadata(self.edge(edge), metadata, self.here(block))
            for edge, metadata, block in self.scenery.edge_metadata
        ]

    @cached_property
    def edge_ids(self) -> dict[str, FlowEdge]:
        return {name: self.edge(edge) for name, edge in self.scenery.edge_ids.items()}


def _placed(subgraph: Subgraph, here: Callable[[Block], Block]) -> Subgraph:
    return replace(
        subgraph,
        block=here(subgraph.block),
        end=None if subgraph.end is None else here(subgraph.end),
        repeated=tuple([here(block) for block in subgraph.repeated]),
        metadata=[(metadata, here(block)) for metadata, block in subgraph.metadata],
        classes=[replace(use, block=here(use.block)) for use in subgraph.classes],
    )
