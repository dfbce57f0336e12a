"""Fold the statements of a file into its flowchart, in one pass, as Mermaid reads them."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.graph.flow import (
    ClassDefUse,
    ClassUse,
    EdgeMetadata,
    Flow,
    FlowEdge,
    FlowNode,
    Mention,
    Subgraph,
)
from merrow_analysis.graph.metadata_label import metadata_label
from merrow_analysis.syntax.tree import (
    Block,
    Chain,
    ClassAssign,
    ClassDef,
    Direction,
    Header,
    Name,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)


def fold(blocks: Iterable[Block]) -> Flow:
    """The flowchart that ``blocks`` draw. Broken statements are left out; an ``end`` without a subgraph is ignored."""
    return _Folder().fold(blocks)


class _OpenSubgraph:
    """A subgraph being read: its members in order of mention."""

    __slots__ = ("block", "direction", "members", "start")

    def __init__(self, start: SubgraphStart, block: Block) -> None:
        self.start, self.block = start, block
        self.members: dict[str, None] = {}
        self.direction: str | None = None


class _Folder:
    def __init__(self) -> None:
        self.flow = Flow()
        self.edge_ids = self.flow.edge_ids
        self.open: list[_OpenSubgraph] = []
        self.claimed: set[str] = set()
        self.closed = 0

    def fold(self, blocks: Iterable[Block]) -> Flow:
        flow = self.flow
        for block in blocks:
            for statement in block.statements:
                kind = type(statement)
                if kind is Chain:
                    self._chain(statement, block)  # type: ignore[arg-type]  # narrowed by the exact type above
                elif kind is ClassAssign:
                    self._class_assign(statement, block)  # type: ignore[arg-type]
                elif isinstance(statement, ClassDef):
                    for name in statement.names:
                        flow.class_defs.setdefault(name.text, []).append(ClassDefUse(name, statement, block))
                elif isinstance(statement, SubgraphStart):
                    self.open.append(_OpenSubgraph(statement, block))
                elif isinstance(statement, SubgraphEnd):
                    if self.open:
                        self._close()
                elif isinstance(statement, Direction):
                    if self.open:
                        self.open[-1].direction = statement.value
                elif isinstance(statement, Header):
                    flow.header, flow.direction = statement, statement.direction
        while self.open:
            self._close()
        return flow

    def _chain(self, chain: Chain, block: Block) -> None:
        if self.open:
            # Mermaid lists the members of a subgraph from the last group of a chain to the first.
            members = self.open[-1].members
            for group in reversed(chain.groups):
                for vertex in group:
                    members.setdefault(vertex.name.text)
        groups = chain.groups
        if self.flow.subgraphs and not chain.arrows:
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
            self._edges(chain, number, arrow.edge_id, previous, nodes, block)
            previous = nodes

    def _edges(
        self,
        chain: Chain,
        number: int,
        edge_id: Name | None,
        sources: list[FlowNode | None],
        targets: list[FlowNode | None],
        block: Block,
    ) -> None:
        edges = self.flow.edges
        arrow = chain.arrows[number - 1]
        for i, source in enumerate(sources):
            for j, target in enumerate(targets):
                if source is None or target is None:
                    continue
                edge = FlowEdge(
                    len(edges),
                    source,
                    target,
                    arrow,
                    block,
                    chain.groups[number - 1][i],
                    chain.groups[number][j],
                )
                edges.append(edge)
                source.outgoing.append(edge)
                target.incoming.append(edge)
                # Of the edges of one arrow, the last source's first one has the id.
                if edge_id is not None and i == len(sources) - 1 and j == 0:
                    self.edge_ids.setdefault(edge_id.text, edge)

    def _is_of_subgraph(self, vertex: Vertex, block: Block) -> bool:
        """Take what a statement says of a subgraph above it: Mermaid draws no node for that."""
        subgraph = self.flow.subgraphs.get(vertex.name.text)
        if subgraph is None or vertex.shape is not None or subgraph.id in self.flow.nodes:
            return False
        if vertex.metadata is not None:
            subgraph.metadata.append((vertex.metadata, block))
        subgraph.classes += [ClassUse(name, block, None) for name in vertex.classes]
        return vertex.metadata is not None or bool(vertex.classes)

    def _vertex(self, vertex: Vertex, block: Block) -> FlowNode | None:
        text = vertex.name.text
        nodes = self.flow.nodes
        node = nodes.get(text)
        if node is None:
            if text in self.edge_ids:
                return None
            node = FlowNode(text, len(nodes))
            nodes[text] = node
        node.mentions.append(Mention(vertex, block))
        if vertex.shape is not None:
            node.shape = vertex.shape
            node.label = vertex.label
            node.label_block = block
        if vertex.classes:
            for name in vertex.classes:
                node.classes.append(ClassUse(name, block, None))
        return node

    def _metadata(self, group: tuple[Vertex, ...], nodes: list[FlowNode | None], block: Block) -> None:
        for vertex, node in zip(group, nodes, strict=True):
            metadata = vertex.metadata
            if metadata is None:
                continue
            text = vertex.name.text
            subgraph = self.flow.subgraphs.get(text)
            if subgraph is not None:
                subgraph.metadata.append((metadata, block))
            elif text in self.edge_ids:
                self.flow.edge_metadata.append(EdgeMetadata(self.edge_ids[text], metadata, block))
            elif node is not None:
                node.metadata.append((metadata, block))
                label = metadata_label(metadata)
                if label is not None:
                    node.label, node.label_block = label, block

    def _class_assign(self, statement: ClassAssign, block: Block) -> None:
        flow = self.flow
        flow.class_assigns.append((statement, block))
        for name in statement.ids:
            node = flow.nodes.get(name.text)
            if node is not None:
                node.classes.append(ClassUse(statement.class_name, block, statement))
            subgraph = flow.subgraphs.get(name.text)
            if subgraph is not None:
                subgraph.classes.append(ClassUse(statement.class_name, block, statement))

    def _close(self) -> None:
        done = self.open.pop()
        start = done.start
        identifier = start.id.text if start.id is not None else f"subGraph{self.closed}"
        self.closed += 1
        title = start.title.text.strip() if start.title is not None else ""
        claimed = self.claimed
        members = [node for node in done.members if node not in claimed and node != identifier]
        claimed.update(members)
        subgraphs = self.flow.subgraphs
        existing = subgraphs.get(identifier)
        if existing is not None:
            existing.nodes.extend(members)
        else:
            subgraphs[identifier] = Subgraph(identifier, title, members, done.direction, done.block, start.id)
        for member in members:
            inner = subgraphs.get(member)
            if inner is not None and inner.parent is None:
                inner.parent = identifier
        if self.open:
            self.open[-1].members.setdefault(identifier)
