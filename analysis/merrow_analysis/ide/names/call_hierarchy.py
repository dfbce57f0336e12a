"""What feeds a node and what it feeds, and which files a file calls, as editors show callers and callees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.graph.flow import FlowEdge, FlowNode
from merrow_analysis.ide.cursor.lookup import occurrence_at
from merrow_analysis.places.call_places import calls_of
from merrow_analysis.text import Position, Range


@dataclass(frozen=True, slots=True)
class HierarchyItem:
    """A node: its id, its operator, and where it is declared."""

    id: str
    detail: str
    range: Range
    name_range: Range


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node on the other side of some edges, and where their arrows stand."""

    item: HierarchyItem
    arrows: tuple[Range, ...]


def item_at(analysis: Analysis, position: Position) -> HierarchyItem | None:
    """The node named at a position."""
    here = occurrence_at(analysis, position)
    if here is None or here.symbol.kind not in ("node", "subgraph"):
        return None
    node = analysis.flow.nodes.get(here.symbol.name)
    return None if node is None else _item(analysis, node)


def file_at(analysis: Analysis, position: Position) -> str | None:
    """The called file that is named at a position, by its path; empty for the file itself, at its first word; None for none."""
    here = occurrence_at(analysis, position)
    if here is not None:
        return here.symbol.name if here.symbol.kind == "file" else None
    start, end = header_of(analysis)
    return "" if analysis.is_workflow and start <= position <= end else None


def header_of(analysis: Analysis) -> Range:
    """Where the diagram begins: its first word."""
    header = analysis.flow.header
    block = next((candidate for candidate in analysis.diagram.blocks if header in candidate.statements), None)
    if header is None or block is None:
        return Range(Position(0, 0), Position(0, 0))
    return block.range((header.span[0], header.span[0] + len(header.keyword)))


def file_calls(analysis: Analysis, node_id: str | None = None) -> dict[str, list[Range]]:
    """The files that a workflow, or one node of it, calls: by path, where they are named."""
    calls: dict[str, list[Range]] = {}
    for node, _, place in calls_of(analysis.typed) if analysis.typed is not None else ():
        if node.resolution.callee is not None and node_id in (None, node.id):
            calls.setdefault(node.resolution.callee.path, []).append(place)
    return calls


def incoming(analysis: Analysis, node_id: str) -> list[Neighbour]:
    """The nodes that feed a node, in the order of their edges."""
    node = analysis.flow.nodes.get(node_id)
    return [] if node is None else _neighbours(analysis, node.incoming, incoming_side=True)


def outgoing(analysis: Analysis, node_id: str) -> list[Neighbour]:
    """The nodes that a node feeds, in the order of its edges."""
    node = analysis.flow.nodes.get(node_id)
    return [] if node is None else _neighbours(analysis, node.outgoing, incoming_side=False)


def _neighbours(analysis: Analysis, edges: Iterable[FlowEdge], *, incoming_side: bool) -> list[Neighbour]:
    arrows: dict[str, list[Range]] = {}
    for edge in edges:
        if not edge.carries_nothing:
            other = edge.source if incoming_side else edge.target
            arrows.setdefault(other.id, []).append(edge.range)
    nodes = analysis.flow.nodes
    return [Neighbour(_item(analysis, nodes[name]), tuple(places)) for name, places in arrows.items()]


def _item(analysis: Analysis, node: FlowNode) -> HierarchyItem:
    mention = next((mention for mention in node.mentions if mention.declares), node.mentions[0])
    vertex = mention.vertex
    end = vertex.metadata.span[1] if vertex.metadata is not None else vertex.span[1]
    detail = ""
    known = None if analysis.typed is None else analysis.typed.by_id.get(node.id)
    if known is not None:
        resolution = known.resolution
        detail = resolution.spec.name if resolution.spec is not None else resolution.kind
    return HierarchyItem(node.id, detail, mention.block.range((vertex.name.span[0], end)), mention.range)
