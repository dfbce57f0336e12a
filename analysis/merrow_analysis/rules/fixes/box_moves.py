"""What is written in the wrong place at a subgraph: lines above its ``end``, edges to its own id."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

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


_MOST_OFFERED = 3


def to_inside(node: TypedNode, graph: TypedGraph) -> Iterator[Fix]:
    """The fixes that lead the edges of a subgraph's own id to nodes in it, one for each node where it may begin or end; none
    where something else is written at the id.
    """
    members = [name for name in _members(node.id, graph) if name in graph.core.handles]
    inside, core = set(members), graph.core
    first = [name for name in members if all(edge.source not in inside for edge in core.into(name))]
    last = [name for name in members if all(edge.target not in inside for edge in core.out_of(name))]
    bare = all(mention.vertex.shape is None and not mention.vertex.classes for mention in node.flow.mentions)
    into, out_of = node.flow.incoming, node.flow.outgoing
    ways = list(islice(product(first if into else [""], last if out_of else [""]), _MOST_OFFERED))
    for begin, end in ways if bare else ():
        edits = {edit.range: edit for edge in into for edit in (_renamed(edge, 1, begin),)}
        edits |= {edit.range: edit for edge in out_of for edit in (_renamed(edge, 0, end),)}
        if len(edits) == len(node.flow.mentions):
            named = " and ".join(dict.fromkeys(name for name in (begin, end) if name))
            title = f"Connect the nodes inside {node.id}" if len(ways) == 1 else f"Connect {named} inside {node.id}"
            yield fix(title, edits.values(), safe=False)


def _members(group: str, graph: TypedGraph) -> list[str]:
    """What lies in a subgraph and in those inside it, in the order of the text."""
    groups, members, waiting = graph.flow.subgraphs, dict[str, None](), [group]
    while waiting:
        name = waiting.pop()
        if name not in members:
            members[name] = None
            waiting += reversed(groups[name].nodes if name in groups else ())
    return [name for name in members if name not in groups]


def _renamed(edge: FlowEdge, end: int, name: str) -> TextEdit:
    vertex = (edge.source_vertex, edge.target_vertex)[end]
    return TextEdit(edge.block.range(vertex.name.span), name)
