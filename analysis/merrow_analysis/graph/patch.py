"""Bring a flowchart up to date after an edit without folding the whole file again.

Only edits whose effect is local are taken: chains of nodes and arrows that name known nodes. Everything else (a class, a
subgraph, a node that comes or goes) is left to `fold`; the outcome is the same in either case.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from merrow_analysis.graph.flow import ClassUse, Flow, FlowEdge, FlowNode, Mention
from merrow_analysis.graph.metadata_label import metadata_label
from merrow_analysis.syntax.tree import Block, Chain, Comment

Touched = dict[str, FlowNode]


def patch(flow: Flow, old: list[Block], new: list[Block]) -> bool:
    """Replace what ``old`` blocks gave to ``flow`` by what ``new`` ones give. False, with nothing done, where `fold` must."""
    if flow.edge_ids or not (_only_chains(old) and _only_chains(new)):
        return False
    before, after = named_in(old), named_in(new)
    if flow.subgraphs and not flow.subgraphs.keys().isdisjoint((*before, *after)):
        return False
    if before != after and not _all_known_above(flow, old, new, {*before, *after}):
        return False
    gone = {id(block) for block in old}
    touched = {name: flow.nodes[name] for name in (*before, *after)}
    _replace_edges(flow, new, gone, touched)
    _replace_mentions(new, gone, touched)
    for node in touched.values():
        _settle(node)
    return True


def relabelled(old: list[Block], new: list[Block]) -> bool:
    """Whether these blocks declare the same nodes, on the same lines, and draw no edge: only what is written at them
    may differ.
    """
    if named_in(old) != named_in(new) or len(old) != len(new):
        return False
    if any(chain.arrows for chain, _ in (*_chains(old), *_chains(new))):
        return False
    return all(a.line_count == b.line_count for a, b in zip(old, new, strict=True))


def named_in(blocks: list[Block]) -> list[str]:
    """The nodes that chains in these blocks name, in Mermaid's order."""
    return [vertex.name.text for chain, _ in _chains(blocks) for group in reversed(chain.groups) for vertex in group]


def only_references(blocks: list[Block]) -> bool:
    """Whether chains in these blocks say nothing about their nodes: no label, shape, metadata or class."""
    return not any(
        vertex.shape is not None or vertex.metadata is not None or vertex.classes
        for chain, _ in _chains(blocks)
        for group in chain.groups
        for vertex in group
    )


def _all_known_above(flow: Flow, old: list[Block], new: list[Block], names: set[str]) -> bool:
    """Whether all nodes are mentioned above these blocks, so that neither their being there nor their order depends on them."""
    if flow.subgraphs:
        return False  # a subgraph's members are in order of mention, too
    gone = {id(block) for block in old}
    first_line = min((block.line for block in (new or old)), default=0)
    for name in names:
        node = flow.nodes.get(name)
        if node is None or id(node.mentions[0].block) in gone or node.mentions[0].block.line >= first_line:
            return False
    return True


def _only_chains(blocks: list[Block]) -> bool:
    return all(
        (type(statement) is Chain and all(arrow.edge_id is None for arrow in statement.arrows))
        or type(statement) is Comment
        for block in blocks
        for statement in block.statements
    )


def _chains(blocks: list[Block]) -> list[tuple[Chain, Block]]:
    return [(statement, block) for block in blocks for statement in block.statements if isinstance(statement, Chain)]


def _replace_edges(flow: Flow, new: list[Block], gone: set[int], touched: Touched) -> None:
    edges = flow.edges
    removed = sorted(edge.index for node in touched.values() for edge in node.outgoing if id(edge.block) in gone)
    made = _edges(flow, new)
    if not removed and not made:
        return
    if removed:
        start, end = removed[0], removed[-1] + 1
    else:
        start = end = bisect_left(edges, min(block.line for block in new), key=_edge_line)
    for node in touched.values():
        node.outgoing = [edge for edge in node.outgoing if id(edge.block) not in gone]
        node.incoming = [edge for edge in node.incoming if id(edge.block) not in gone]
    edges[start:end] = made
    if len(made) != end - start:
        for number in range(start, len(edges)):
            edges[number].index = number
    else:
        for number, edge in enumerate(made, start):
            edge.index = number
    for edge in made:
        insort(edge.source.outgoing, edge, key=_edge_index)
        insort(edge.target.incoming, edge, key=_edge_index)


def _edges(flow: Flow, blocks: list[Block]) -> list[FlowEdge]:
    nodes = flow.nodes
    return [
        FlowEdge(0, nodes[source.name.text], nodes[target.name.text], arrow, block, source, target)
        for chain, block in _chains(blocks)
        for number, arrow in enumerate(chain.arrows)
        for source in chain.groups[number]
        for target in chain.groups[number + 1]
    ]


def _replace_mentions(new: list[Block], gone: set[int], touched: Touched) -> None:
    for node in touched.values():
        node.mentions = [mention for mention in node.mentions if id(mention.block) not in gone]
    for chain, block in _chains(new):
        for group in chain.groups:
            for vertex in group:
                insort(touched[vertex.name.text].mentions, Mention(vertex, block), key=_mention_line)


def _settle(node: FlowNode) -> None:
    """Work out anew what the mentions of a node and the class statements add up to."""
    node.label = node.label_block = node.shape = None
    node.metadata = []
    for mention in node.mentions:
        vertex = mention.vertex
        if vertex.shape is not None:
            node.shape, node.label, node.label_block = vertex.shape, vertex.label, mention.block
        if vertex.metadata is not None:
            node.metadata.append((vertex.metadata, mention.block))
            label = metadata_label(vertex.metadata)
            if label is not None:
                node.label, node.label_block = label, mention.block
    inline = [ClassUse(name, mention.block, None) for mention in node.mentions for name in mention.vertex.classes]
    if inline or any(use.statement is None for use in node.classes):
        given = [use for use in node.classes if use.statement is not None]
        node.classes = sorted((*given, *inline), key=lambda use: (use.block.line, use.name.span))


def _edge_line(edge: FlowEdge) -> int:
    return edge.block.line


def _edge_index(edge: FlowEdge) -> int:
    return edge.index


def _mention_line(mention: Mention) -> int:
    return mention.block.line
