"""The flowchart that follows from a change: what is there already, and the change as if it were written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from merrow_analysis.graph.flow import Flow, FlowEdge, FlowNode, Mention
from merrow_analysis.syntax.tree import Arrow, Block, Label, Metadata, Name, Vertex

if TYPE_CHECKING:
    from merrow_optimizer.mutations.change import Change, NewNode

_NOWHERE = (0, 0)


def flow_after(change: Change) -> Flow:
    """The whole flowchart, with nodes and edges of its own that share what is written at the old ones."""
    old = change.subject.flow
    flow = replace(old, nodes={}, edges=[])
    beside: dict[str, list[NewNode]] = {}
    for new in change.added:
        beside.setdefault(new.beside, []).append(new)

    def add(name: str) -> None:
        flow.nodes[name] = _numbered(change.written_nodes[name], len(flow.nodes))
        for following in beside.get(name, ()):
            add(following.id)

    for name, node in old.nodes.items():
        if name in change.substituted:
            flow.nodes[name] = _numbered(change.written_nodes[name], len(flow.nodes))
        elif name not in change.removed:
            flow.nodes[name] = _numbered(node, len(flow.nodes))
        for new in beside.get(name, ()):
            add(new.id)
    for new in change.added:
        if new.id not in flow.nodes:
            add(new.id)
    line = -len(change.written_nodes)
    for edge in old.edges:
        put = change.edges.get(edge.index)
        if put is None:
            _join(flow, edge.source.id, edge.target.id, edge)
            continue
        for link in put:
            line -= 1
            made = new_edge(
                flow.nodes[link.source], flow.nodes[link.target], link.label, edge if link.kept else None, line
            )
            _join(flow, link.source, link.target, made)
    return flow


def _numbered(node: FlowNode, index: int) -> FlowNode:
    return FlowNode(
        node.id, index, node.mentions, node.classes, node.label, node.label_block, node.shape, node.metadata
    )


def written_node(new: NewNode, line: int) -> FlowNode:
    """A node as if it were written with metadata; its line tells its findings from others."""
    body = "\n".join(f"{key}: {json.dumps(value)}" for key, value in new.values().items())
    metadata = Metadata(body, _NOWHERE, _NOWHERE)
    block = Block(line, "", ())
    vertex = Vertex(Name(new.id, _NOWHERE), metadata=metadata)
    return FlowNode(new.id, 0, [Mention(vertex, block)], metadata=[(metadata, block)])


def new_edge(source: FlowNode, target: FlowNode, label: str | None, edge: FlowEdge | None, line: int) -> FlowEdge:
    """An edge as if it were written, not yet joined to its nodes; ``edge`` is the one whose arrow it keeps."""
    if edge is not None and (None if edge.arrow.label is None else edge.arrow.label.text) == label:
        return FlowEdge(edge.index, source, target, edge.arrow, edge.block, edge.source_vertex, edge.target_vertex)
    written = None if label is None else Label(label, "text", _NOWHERE)
    arrow = Arrow("arrow_point", "normal" if edge is None else edge.arrow.stroke, 1, written, None, _NOWHERE)
    ends = Vertex(Name(source.id, _NOWHERE)), Vertex(Name(target.id, _NOWHERE))
    return FlowEdge(-1, source, target, arrow, Block(line, "", ()), *ends)


def _join(flow: Flow, start: str, end: str, edge: FlowEdge) -> None:
    source, target = flow.nodes[start], flow.nodes[end]
    new = FlowEdge(len(flow.edges), source, target, edge.arrow, edge.block, edge.source_vertex, edge.target_vertex)
    flow.edges.append(new)
    source.outgoing.append(new)
    target.incoming.append(new)
