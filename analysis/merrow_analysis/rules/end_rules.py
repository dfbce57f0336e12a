"""Inputs and outputs of the workflow that lie in a Loop or Map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from merrow_analysis.diagnostics import Cause, Diagnostic, Fix, Severity
from merrow_analysis.graph.flow import Mention, Subgraph
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.box_fixes import as_group
from merrow_analysis.rules.fixes.box_moves import moved_below
from merrow_analysis.rules.fixes.fix_context import asked, what_edges_bring
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import report
from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Range

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.QUICK_LOOK)
END_INSIDE = _FAMILY.rule(
    "MW120",
    "end-inside",
    "An input or output of the workflow lies in a Loop or Map.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.PATHS,
)


@_FAMILY.checked_by
def check_ends(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about inputs and outputs in composites."""
    for node in _inside(context.graph):
        yield _end_inside(context, node)


def ends_inside(graph: TypedGraph) -> dict[str, Cause]:
    """The inputs and outputs that lie in a composite, by id, and where that is reported."""
    return {node.id: Cause(END_INSIDE.code, _place(graph, node)) for node in _inside(graph)}


def _inside(graph: TypedGraph) -> list[TypedNode]:
    if not graph.composites:
        return []
    ends = (graph.node(index) for index in (*graph.shape.inputs, *graph.shape.outputs))
    composites = graph.composites
    return [
        node
        for node in ends
        if node.id in composites.inside
        and not node.implied
        and not composites.boxes[composites.inside[node.id]].implied
    ]


def _owner(graph: TypedGraph, node: TypedNode) -> Subgraph:
    owner = graph.flow.claimed.get(node.id)
    return graph.flow.subgraphs[graph.composites.inside[node.id]] if owner is None else owner


def _mentions(graph: TypedGraph, node: TypedNode) -> list[Mention]:
    """Where a node is written in the subgraph that it lies in."""
    owner = _owner(graph, node)
    last = None if owner.end is None else owner.end.line
    return [
        mention
        for mention in node.flow.mentions
        if mention.block.line > owner.block.line and (last is None or mention.block.line < last)
    ]


def _place(graph: TypedGraph, node: TypedNode) -> Range:
    within = _mentions(graph, node)
    return within[0].range if within else node.flow.range


def _end_inside(context: GraphContext, node: TypedNode) -> Diagnostic:
    graph = context.graph
    groups = graph.flow.subgraphs
    box = graph.composites.boxes[graph.composites.inside[node.id]]
    side = "an input" if node.kind == "input" else "an output"
    inner, within, place = _owner(graph, node), _mentions(graph, node), _place(graph, node)
    declared = within and any(mention.vertex.shape is not None for mention in within)
    why = (
        f"it is declared in {inner.id}"
        if declared
        else f"Mermaid puts a node into the first subgraph that mentions it, and {inner.id} does so here"
    )
    message = (
        f"{node.id} is {side} of the workflow but lies in the {box.operator} {box.id}: {why}. Write this line below the "
        f"`end` of {box.id}."
    )
    fixes: Iterable[Fix] = ()
    if len({mention.block for mention in within}) == 1 and groups[box.id].end is not None:
        line = within[0].block
        if _keeps_a_node(graph, groups[box.id], line):
            fixes = asked(context).sound(END_INSIDE, _moved_out(graph, line, inner, groups[box.id]), what_edges_bring)
        else:
            fixes = as_group(context, END_INSIDE, box)
    return report(END_INSIDE, place, message, fixes=fixes)


def _keeps_a_node(graph: TypedGraph, box: Subgraph, block: Block) -> bool:
    """Whether a box has a node that another of its lines mentions."""
    end = block.line if box.end is None else box.end.line
    members = [graph.flow.nodes[name] for name in graph.composites.members(box.id) if name in graph.flow.nodes]
    lines = {mention.block.line for node in members for mention in node.mentions}
    return any(box.block.line < line < end for line in lines - {block.line})


def _moved_out(graph: TypedGraph, block: Block, inner: Subgraph, box: Subgraph) -> list[Fix]:
    """Move a line below the box where every other node that it names is mentioned in there elsewhere."""
    end = inner.end.line if inner.end is not None else block.line
    for name in inner.nodes:
        node = graph.flow.nodes.get(name)
        if node is None or name not in graph.by_id or graph.by_id[name].kind in ("input", "output"):
            continue
        lines = {mention.block.line for mention in node.mentions if inner.block.line < mention.block.line < end}
        if lines == {block.line}:
            return []
    return moved_below(box, block, f"Move the line below the end of {box.id}")
