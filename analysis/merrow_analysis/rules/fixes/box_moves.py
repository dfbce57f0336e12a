"""What is written in the wrong place at a subgraph: lines above its ``end``, edges to its own id."""

from __future__ import annotations

from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.lines import indentation
from merrow_analysis.graph.flow import FlowEdge, Subgraph
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.rules.reporting import fix
from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Position, Range, TextEdit


def moved_below(group: Subgraph, block: Block, title: str) -> list[Fix]:
    """The fix that moves a line of its own below the ``end`` of a subgraph; none where either shares its line."""
    end = group.end
    if end is None or len(block.statements) != 1 or block.line_count != 1 or end.line <= block.line:
        return []
    if end.text.strip().rstrip(";") != "end":
        return []
    gone = TextEdit(Range(Position(block.line, 0), Position(block.line + 1, 0)), "")
    line = f"{indentation(end)}{block.text.strip()}"
    place = end.position(len(end.text.rstrip("\r\n")))
    return [fix(title, [gone, TextEdit(Range(place, place), f"\n{line}")], safe=False)]


def to_inside(node: TypedNode, graph: TypedGraph) -> list[Fix]:
    """The fix that leads the edges of a subgraph's own id to the node in it that they most likely mean; none where that is not
    clear: where its nodes begin or end in several places, or where something else is written at the id.
    """
    members = [name for name in graph.flow.subgraphs[node.id].nodes if name in graph.core.handles]
    inside, core = set(members), graph.core
    first = [name for name in members if all(edge.source not in inside for edge in core.into(name))]
    last = [name for name in members if all(edge.target not in inside for edge in core.out_of(name))]
    edits: dict[Range, TextEdit] = {}
    for edges, found, end in ((node.flow.incoming, first, 1), (node.flow.outgoing, last, 0)):
        if edges and len(found) != 1:
            return []
        for edge in edges:
            edit = _renamed(edge, end, found[0])
            edits[edit.range] = edit
    bare = all(mention.vertex.shape is None and not mention.vertex.classes for mention in node.flow.mentions)
    if not bare or len(edits) != len(node.flow.mentions):
        return []
    return [fix(f"Connect the nodes inside {node.id}", edits.values(), safe=False)]


def _renamed(edge: FlowEdge, end: int, name: str) -> TextEdit:
    vertex = (edge.source_vertex, edge.target_vertex)[end]
    return TextEdit(edge.block.range(vertex.name.span), name)
