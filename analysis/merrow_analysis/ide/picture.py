"""What a picture of the flowchart needs besides the text: which place each node and edge has, and what is wrong where.

A drawing program makes shapes out of the text; this says for each shape where it is written, what flows along it and what
is found about it, so that a picture can answer clicks, follow the cursor and carry findings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.flow import Flowchart, FlowEdge, FlowNode, Subgraph
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.syntax.tree import ClassAssign, Style
from merrow_analysis.text import Range


@dataclass(slots=True)
class NodePicture:
    """A node: ``range`` is its id where it is declared, ``places`` all that is written about it, declaration first."""

    flow: FlowNode
    typed: TypedNode | None
    range: Range
    places: list[Range]
    diagnostics: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class EdgePicture:
    """An edge, also one that is not drawn (``~~~``); ``id`` is the one that Mermaid gives its path."""

    id: str
    flow: FlowEdge
    typed: TypedEdge | None
    range: Range
    diagnostics: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class Picture:
    """All parts of the picture, edges in Mermaid's order; ``elsewhere`` are findings about no node and no edge."""

    nodes: list[NodePicture]
    edges: list[EdgePicture]
    subgraphs: list[tuple[Subgraph, Range]]
    elsewhere: list[Diagnostic]


def picture(analysis: Analysis) -> Picture:
    """The picture of a diagram. Linear in the flowchart and the findings."""
    flow, typed = analysis.flow, analysis.typed
    typed_nodes = {} if typed is None else typed.by_id
    typed_edges = {} if typed is None else {id(edge.flow): edge for edge in (*typed.edges, *typed.again)}
    assigned = _assigned(analysis)
    nodes = [
        NodePicture(node, typed_nodes.get(node.id), node.range, _places(node) + assigned.get(node.id, []))
        for node in flow.nodes.values()
    ]
    edges = [
        EdgePicture(name, edge, typed_edges.get(id(edge)), edge.range)
        for name, edge in zip(_edge_ids(flow), flow.edges, strict=True)
    ]
    subgraphs = [(part, part.block.range(part.name.span)) for part in flow.subgraphs.values() if part.name is not None]
    return Picture(nodes, edges, subgraphs, list(_distributed(analysis.diagnostics, nodes, edges)))


def _places(node: FlowNode) -> list[Range]:
    """Where the node is mentioned, with brackets and metadata; declarations first."""
    ordered = sorted(node.mentions, key=lambda mention: not mention.declares)
    places = []
    for mention in ordered:
        vertex = mention.vertex
        end = vertex.span[1] if vertex.metadata is None else max(vertex.span[1], vertex.metadata.span[1])
        places.append(mention.block.range((vertex.span[0], end)))
    return places


def _assigned(analysis: Analysis) -> dict[str, list[Range]]:
    """Where ``class`` and ``style`` statements name each node."""
    ranges: defaultdict[str, list[Range]] = defaultdict(list)
    for block in analysis.diagram.blocks:
        for statement in block.statements:
            if isinstance(statement, ClassAssign):
                for name in statement.ids:
                    ranges[name.text].append(block.range(name.span))
            elif isinstance(statement, Style):
                ranges[statement.id.text].append(block.range(statement.id.span))
    return ranges


def _edge_ids(flow: Flowchart) -> Iterator[str]:
    """The id of each edge's path in Mermaid's drawing: its own, or one made of its ends and, from the second on, a number."""
    taken: set[str] = set()
    between: Counter[tuple[str, str]] = Counter()
    for edge in flow.edges:
        ends = edge.source.id, edge.target.id
        own = edge.arrow.edge_id
        if own is not None and flow.edge_ids.get(own.text) is edge and own.text not in taken:
            name = own.text
        else:
            before = between[ends]
            name = f"L_{ends[0]}_{ends[1]}_{before + 1 if before else 0}"
        between[ends] += 1
        taken.add(name)
        yield name


def _distributed(
    diagnostics: list[Diagnostic], nodes: list[NodePicture], edges: list[EdgePicture]
) -> Iterator[Diagnostic]:
    """Give each finding to the node or edge within which it begins; yields those that begin in none."""
    if not diagnostics:
        return
    by_line: defaultdict[int, list[tuple[Range, NodePicture | EdgePicture]]] = defaultdict(list)
    for node in nodes:
        for place in node.places:
            for line in range(place.start.line, place.end.line + 1):
                by_line[line].append((place, node))
    for edge in edges:
        for line in range(edge.range.start.line, edge.range.end.line + 1):
            by_line[line].append((edge.range, edge))
    for diagnostic in diagnostics:
        start = diagnostic.range.start
        owners = [owner for place, owner in by_line[start.line] if place.start <= start < place.end]
        if not owners:
            yield diagnostic
        for owner in owners:  # one arrow between groups of nodes is several edges
            if diagnostic not in owner.diagnostics:
                owner.diagnostics.append(diagnostic)
