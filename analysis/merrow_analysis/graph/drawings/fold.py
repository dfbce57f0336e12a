"""Fold the statements of a file into its flowchart, in one pass, as Mermaid reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from merrow_analysis.graph.drawings.bodies import Mentions, members_of
from merrow_analysis.graph.drawings.metadata_label import metadata_label
from merrow_analysis.graph.flow import NO_BLOCK, ClassDefUse, ClassUse, Flowchart, Scenery, Subgraph, Undrawn
from merrow_analysis.graph.records import Chart, ClassRecord, EdgeRecord, MentionRecord, WrittenNode
from merrow_analysis.syntax.tree import (
    Arrow,
    Block,
    Chain,
    ClassAssign,
    ClassDef,
    Direction,
    Header,
    Metadata,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)

MOST_EDGES_READ = 200_000
"""Edges of a text beyond which none is read. Texts written by hand have some hundred."""


def fold(blocks: Iterable[Block], moved: Mapping[Block, Block] | None = None) -> Flowchart:
    """The flowchart that ``blocks`` draw. Broken statements are left out; an ``end`` without a subgraph is ignored.

    ``moved`` has the blocks that are not where they were first read (`Diagram.moved`).
    """
    blocks = list(blocks)
    folder = _Folder(_undrawn(blocks))
    last = folder.fold(blocks)
    return Flowchart(folder.chart, folder.scenery, moved, last)


def edges_of(chain: Chain) -> int:
    """How many edges a statement draws: each node of a group leads to all of the next one."""
    return sum(len(sources) * len(targets) for sources, targets in pairwise(chain.groups))


def _undrawn(blocks: Iterable[Block]) -> Undrawn | None:
    """What says that there are too many edges: a short text may have millions."""
    edges, beyond = 0, None
    for block in blocks:
        for statement in block.statements:
            if type(statement) is Chain:
                edges += edges_of(statement)
                if edges > MOST_EDGES_READ and beyond is None:
                    beyond = statement, block.origin or block
    return None if beyond is None else Undrawn(edges, *beyond)


class _OpenSubgraph:
    """A subgraph being read."""

    __slots__ = ("block", "direction", "mentions", "start")

    def __init__(self, start: SubgraphStart, block: Block) -> None:
        self.start, self.block = start, block
        self.mentions = Mentions()
        self.direction: str | None = None


class _Folder:
    def __init__(self, undrawn: Undrawn | None = None) -> None:
        self.scenery = Scenery(undrawn=undrawn)
        self.draws = undrawn is None
        self.chart = Chart()
        self.nodes: dict[str, WrittenNode] = self.chart.nodes
        self.edge_ids = self.scenery.edge_ids
        self.open: list[_OpenSubgraph] = []
        self.closed = 0

    def fold(self, blocks: Iterable[Block]) -> Block:
        """Read blocks; answers the last of them, or `NO_BLOCK`."""
        scenery = self.scenery
        present = NO_BLOCK
        for present in blocks:
            block = present.origin or present
            for statement in block.statements:
                kind = type(statement)
                if kind is Chain:
                    self._chain(statement, block)  # type: ignore[arg-type]  # narrowed by the exact type above
                elif kind is ClassAssign:
                    self._class_assign(statement, block)  # type: ignore[arg-type]
                elif isinstance(statement, ClassDef):
                    for name in statement.names:
                        scenery.class_defs.setdefault(name.text, []).append(ClassDefUse(name, statement, block))
                elif isinstance(statement, SubgraphStart):
                    self.open.append(_OpenSubgraph(statement, block))
                elif isinstance(statement, SubgraphEnd):
                    if self.open:
                        self.close(block)
                elif isinstance(statement, Direction):
                    if self.open:
                        self.open[-1].direction = statement.value
                elif isinstance(statement, Header):
                    scenery.header, scenery.direction = statement, statement.direction
        while self.open:
            self.close()
        for subgraph, members in members_of(scenery.bodies).items():
            group = scenery.subgraphs[subgraph]
            group.nodes, group.refused, group.parent = members
        return present

    def _chain(self, chain: Chain, block: Block) -> None:
        if self.open:
            self.open[-1].mentions.add(chain)
        groups = chain.groups
        if len(groups) == 2 and len(groups[0]) == 1 and len(groups[1]) == 1 and chain.arrows[0].edge_id is None:
            # Most statements of a file are like this.
            self._edge(groups[0], groups[1], chain.arrows[0], block)
            return
        if not chain.arrows and self.scenery.subgraphs:
            groups = (tuple([vertex for vertex in groups[0] if not self._is_of_subgraph(vertex, block)]),)
            if not groups[0]:
                return
        previous = [self._vertex(vertex, block) for vertex in groups[0]]
        if groups[0][-1].metadata is not None or len(groups[0]) > 1:
            self._metadata(groups[0], previous, block)
        for number, arrow in enumerate(chain.arrows, 1):
            group = groups[number]
            nodes = [self._vertex(vertex, block) for vertex in group]
            if group[-1].metadata is not None or len(group) > 1:
                self._metadata(group, nodes, block)
            self._edges(chain, number, arrow, previous, nodes, block)
            previous = nodes

    def _edge(self, before: tuple[Vertex, ...], after: tuple[Vertex, ...], arrow: Arrow, block: Block) -> None:
        """Take an arrow from one node to another one."""
        source, target = before[0], after[0]
        first = self._vertex(source, block)
        if source.metadata is not None:
            self._metadata(before, [first], block)
        second = self._vertex(target, block)
        if target.metadata is not None:
            self._metadata(after, [second], block)
        if first is not None and second is not None and self.draws:
            self._drawn(EdgeRecord(first.id, second.id, arrow, block, source, target))

    def _drawn(self, edge: EdgeRecord) -> None:
        chart = self.chart
        chart.edges.append(edge)
        for rows, name in ((chart.outgoing, edge.source), (chart.incoming, edge.target)):
            row = rows.get(name)
            if row is None:
                rows[name] = [edge]
            else:
                row.append(edge)

    def _edges(
        self,
        chain: Chain,
        number: int,
        arrow: Arrow,
        sources: list[WrittenNode | None],
        targets: list[WrittenNode | None],
        block: Block,
    ) -> None:
        if not self.draws:
            return
        edge_id = arrow.edge_id
        for i, source in enumerate(sources):
            for j, target in enumerate(targets):
                if source is None or target is None:
                    continue
                begin, end = source.id, target.id
                edge = EdgeRecord(begin, end, arrow, block, chain.groups[number - 1][i], chain.groups[number][j])
                self._drawn(edge)
                # Of the edges of one arrow, the last source's first one has the id.
                if edge_id is not None and i == len(sources) - 1 and j == 0:
                    self.edge_ids.setdefault(edge_id.text, edge)

    def _is_of_subgraph(self, vertex: Vertex, block: Block) -> bool:
        """Take what a statement says of a subgraph above it: Mermaid draws no node for that."""
        subgraph = self.scenery.subgraphs.get(vertex.name.text)
        if subgraph is None or vertex.shape is not None or subgraph.id in self.nodes:
            return False
        if vertex.metadata is not None:
            subgraph.metadata.append((vertex.metadata, block))
        subgraph.classes += [ClassUse(name, block, None) for name in vertex.classes]
        return vertex.metadata is not None or bool(vertex.classes)

    def _vertex(self, vertex: Vertex, block: Block) -> WrittenNode | None:
        text = vertex.name.text
        node = self.nodes.get(text)
        if node is None:
            if text in self.edge_ids:
                return None
            node = self.nodes[text] = WrittenNode(text, [MentionRecord(vertex, block)])
        else:
            node.mentions.append(MentionRecord(vertex, block))  # type: ignore[attr-defined]  # a list while it is made
        if vertex.shape is not None:
            node.shape = vertex.shape
            node.label = vertex.label
            node.label_block = block
        if vertex.classes:
            for name in vertex.classes:
                _append_class(node, ClassRecord(name, block, None))
        return node

    def _metadata(self, group: tuple[Vertex, ...], nodes: list[WrittenNode | None], block: Block) -> None:
        for vertex, node in zip(group, nodes, strict=True):
            metadata = vertex.metadata
            if metadata is None:
                continue
            text = vertex.name.text
            subgraph = self.scenery.subgraphs.get(text)
            if subgraph is not None:
                subgraph.metadata.append((metadata, block))
            elif text in self.edge_ids:
                self.scenery.edge_metadata.append((self.edge_ids[text], metadata, block))
            elif node is not None:
                if node.metadata:
                    node.metadata.append((metadata, block))  # type: ignore[attr-defined]  # a list while it is made
                else:
                    node.metadata = [(metadata, block)]
                label = metadata_label(metadata)
                if label is not None:
                    node.label, node.label_block = label, block

    def _class_assign(self, statement: ClassAssign, block: Block) -> None:
        scenery, nodes = self.scenery, self.nodes
        scenery.class_assigns.append((statement, block))
        for name in statement.ids:
            node = nodes.get(name.text)
            if node is not None:
                _append_class(node, ClassRecord(statement.class_name, block, statement))
            subgraph = scenery.subgraphs.get(name.text)
            if subgraph is not None:
                subgraph.classes.append(ClassUse(statement.class_name, block, statement))

    def close(self, end: Block | None = None) -> None:
        """End the subgraph that was begun last."""
        done = self.open.pop()
        start = done.start
        identifier = start.id.text if start.id is not None else f"subGraph{self.closed}"
        self.closed += 1
        self.scenery.bodies.append(done.mentions.body(done.block, end, identifier))
        title = start.title.text.strip() if start.title is not None else ""
        subgraphs = self.scenery.subgraphs
        existing = subgraphs.get(identifier)
        if existing is not None:
            existing.repeated += (done.block,)
        else:
            early = self._early_metadata(identifier)
            subgraphs[identifier] = Subgraph(
                identifier,
                title,
                [],
                done.direction,
                done.block,
                start.id,
                label=start.title,
                end=end,
                metadata=early,
                early=len(early),
            )
        if self.open:
            self.open[-1].mentions.members.setdefault(identifier)

    def _early_metadata(self, name: str) -> list[tuple[Metadata, Block]]:
        """Take the metadata of a subgraph from the node that Mermaid makes of it; none where more is said of this node."""
        node = self.nodes.get(name)
        if node is None or name in self.chart.incoming or name in self.chart.outgoing:
            return []
        if any(mention.vertex.shape is not None or mention.vertex.metadata is None for mention in node.mentions):
            return []
        del self.nodes[name]
        return list(node.metadata)


def _append_class(node: WrittenNode, given: ClassRecord) -> None:
    if node.classes:
        node.classes.append(given)  # type: ignore[attr-defined]  # a list while it is made
    else:
        node.classes = [given]
