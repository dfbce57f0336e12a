"""Fixes of Loops and Maps: words on their edges, boxes that become groups, ids and parameters of boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

from merrow_analysis.definitions.types import list_of
from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.edits.box_writing import with_parameter
from merrow_analysis.edits.change import GraphChange, WantedEdge, Wrapping
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.edits.replacements import edits_both_ways
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.boxes.edge_words import EACH, OVER
from merrow_analysis.graph.flow import Mention, Subgraph
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import firsts, relabel
from merrow_analysis.rules.fixes.fix_context import asked, what_edges_bring
from merrow_analysis.rules.fixes.loop_fixes import with_word
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import fix
from merrow_analysis.syntax.tree import Block, EmptyStatement
from merrow_analysis.text import Position, Range, TextEdit
from merrow_analysis.wiring.takers import lists_into

_MOST_OFFERED = 3
_OPENED = re.compile(r"(\s*subgraph[ \t]+)(\"[^\"\r\n]*\"|[^\"\[\]\r\n]*?)([ \t]*;?\s*)\Z")


def other_word(context: GraphContext, rule: Rule, edge: TypedEdge, word: str, other: str | None) -> Iterator[Fix]:
    """Take a word of composites off an edge, or write another one in its place; what its label says besides stays."""
    label = edge.flow.arrow.label
    if label is None:
        return
    parts = [part.strip() for part in label.text.split(":")]
    # Out of a Decision the first part is the case, whatever it says.
    first = 1 if edge.source.kind == "decision" else 0
    if word not in parts[first:]:
        return
    at = parts.index(word, first)
    parts[at : at + 1] = [] if other is None else [other]
    rest = ":".join(parts) if any(parts) else None
    title = f"Remove {word}" if other is None else f"Write {other} for {word}"
    yield from relabel(context, rule, edge, rest, title)


def take_apart(context: GraphContext, rule: Rule, box: Composite, edges: Sequence[TypedEdge]) -> Iterator[Fix]:
    """Take one of the lists that enter a Map apart for its items, or make a group of the Map."""
    for edge in edges[:_MOST_OFFERED]:
        yield from relabel(context, rule, edge, with_word(edge, EACH))
    for wire in () if edges else islice(lists_into(context.graph, box), _MOST_OFFERED):
        title = f"Lead {wire.source.id} to {wire.target.id}"
        yield from asked(context).drawn(rule, title, [wire.link], reveals=what_edges_bring)
    yield from as_group(context, rule, box)


def draw_map(context: GraphContext, rule: Rule, edge: TypedEdge) -> Iterator[Fix]:
    """Draw a Map around the node that is to take the items of a list."""
    flow, target = context.graph.flow, edge.target
    if target.id in flow.claimed:
        return
    taken = {*flow.chart.nodes, *flow.groups, *flow.scenery.edge_ids}
    name = next(name for number in count(1) if (name := f"MAP{number if number > 1 else ''}") not in taken)
    change = GraphChange(wrapped={name: Wrapping("Map (max: 100)", target.id)})
    yield from asked(context).changed(rule, f"Draw a Map around {target.id}", change)


def into_box(context: GraphContext, rule: Rule, node: TypedNode, box: str) -> Iterator[Fix]:
    """Name a node that lies in no subgraph inside a box."""
    if context.graph.composites.boxes[box].implied:
        return
    fixing, group = asked(context), context.graph.flow.subgraphs[box]
    if node.id in fixing.in_subgraphs or node.kind in ("input", "output"):
        return
    line = insert_lines_after(group.block, [f"{indentation(group.block)}    {node.id}"])
    yield from fixing.sound(rule, [fix(f"Move {node.id} into {box}", [line], safe=False)], _what_moving_brings)


def _what_moving_brings(rule: Rule) -> bool:
    # A path that leaves the box now and comes back is the move's own doing.
    return what_edges_bring(rule) and rule.name != "path-comes-back"


def as_group(context: GraphContext, rule: Rule, box: Composite) -> Iterator[Fix]:
    """Make a mere group of a box, whose nodes run once then."""
    if box.implied:
        return
    graph, gone = context.graph, frozenset({box.id})
    left = [edge for edge in graph.edges if edge.word == OVER and edge.left[0] == box.id]
    plain = {edge.flow.index: (_without_word(graph, edge),) for edge in left}
    ended: dict[int, tuple[WantedEdge, ...]] = {edge.flow.index: () for edge in left}
    made = (
        repair
        for edges in (plain, ended)
        for repair in asked(context).changed(
            rule, f"Make {box.id} a plain group", GraphChange(unwrapped=gone, edges=edges)
        )
    )
    yield from firsts(made, 1)


def _without_word(graph: TypedGraph, edge: TypedEdge) -> WantedEdge:
    """An edge whose word means nothing without its box."""
    return WantedEdge(edge.source.id, edge.target.id, graph.core.text_of(edge.record), kept=True)


def set_parameter(context: GraphContext, box: Composite, key: str, value: int | str) -> Iterator[Fix]:
    """Write a parameter of a box, in the place of the one that it has."""
    workflow_text = asked(context).workflow_text
    try:
        replacement = with_parameter(workflow_text, box, key, value)
    except ValueError:
        return
    edits = edits_both_ways(workflow_text.places, [replacement])[1]
    yield Fix(f"Write {key}: {value} at {box.id}", edits, Applicability.UNSAFE)


def one_list(context: GraphContext, rule: Rule, first: TypedEdge, edge: TypedEdge) -> Iterator[Fix]:
    """Bring one of two lists whole, so that only the other one is taken apart."""
    for way in (edge, first):
        for repair in other_word(context, rule, way, EACH, None):
            yield Fix(f"Bring the list of {way.source.id} whole", repair.edits, repair.applicability)


def give_list(context: GraphContext, rule: Rule, edge: TypedEdge, given: str) -> Iterator[Fix]:
    """Say at a node that it gives a list, or bring its value as one."""
    spec = edge.source.spec
    if (
        spec is not None
        and spec.bulk is not None
        and not spec.is_ensemble
        and spec.effect != "none"
        and not edge.raised
    ):
        title = f"Write returns: {list_of(given)} at {edge.source.id}"
        yield from asked(context).with_parameter(rule, title, edge.source, "returns", list_of(given))
    yield from other_word(context, rule, edge, EACH, None)


# Boxes that are written wrongly


def name_box(context: GraphContext, group: Subgraph) -> Iterator[Fix]:
    """Give a box an id before its title."""
    match = _OPENED.match(group.block.text)
    if match is None:
        return
    name = free_id(context, group.title.split("(")[0].strip().upper() or "BOX")
    place = group.block.range(match.span(2))
    edit = TextEdit(place, f'{name}["{match[2].strip().strip(chr(34))}"]')
    yield fix(f"Write the id {name}", [edit], safe=False)


def rename_box(context: GraphContext, group: Subgraph, block: Block) -> Iterator[Fix]:
    """Give the second of two boxes with one id another id."""
    match = re.match(rf"\s*subgraph[ \t]+({re.escape(group.id)})(?![\w-])", block.text)
    if match is not None:
        name = free_id(context, group.id)
        yield fix(f"Write the id {name}", [TextEdit(block.range(match.span(1)), name)], safe=False)


def remove_box(context: GraphContext, group: Subgraph) -> Iterator[Fix]:
    """Remove the lines of a box with nothing in it."""
    end, diagram = group.end, context.diagram
    if end is None or diagram is None or group.metadata or group.classes:
        return
    inside = [block for block in diagram.blocks if group.block.line < block.line < end.line]
    alone = len(group.block.statements) == 1 and len(end.statements) == 1
    if alone and all(type(statement) is EmptyStatement for block in inside for statement in block.statements):
        there = Range(Position(group.block.line, 0), Position(end.line + end.line_count, 0))
        if not end.text.endswith(("\n", "\r")):
            there = Range(there.start, end.position(len(end.text)))
        yield fix(f"Remove {group.id}", [TextEdit(there, "")], safe=False)


def mentions_in(node: TypedNode, group: Subgraph) -> list[Mention]:
    """Where a node is written between the lines of a subgraph."""
    end = group.end
    return [
        mention
        for mention in node.flow.mentions
        if group.block.line < mention.block.line and (end is None or mention.block.line < end.line)
    ]


def leave_box(node: TypedNode, group: Subgraph) -> Iterator[Fix]:
    """Remove the line that mentions a node of another subgraph in this one."""
    within = mentions_in(node, group)
    bare = [
        mention
        for mention in within
        if mention.vertex.shape is None and mention.block.text.strip().rstrip(";") == node.id
    ]
    if within and len(bare) == len(within):
        edits = [
            TextEdit(Range(Position(mention.block.line, 0), Position(mention.block.line + 1, 0)), "")
            for mention in bare
        ]
        yield fix(f"Remove {node.id} from {group.id}", edits, safe=False)


def free_id(context: GraphContext, wanted: str, more: Iterable[str] = ()) -> str:
    """An id that nothing has, like the one that is wanted, and not among ``more``."""
    flow = context.graph.flow
    taken = {*flow.chart.nodes, *flow.groups, *flow.scenery.edge_ids, *more}
    name, number = re.sub(r"\W+", "_", wanted).strip("_") or "BOX", 2
    wanted = name
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


# Ways out of a diamond without labels


def label_ways(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Label the two ways out of a diamond ``yes`` and ``no``."""
    edges = node.outgoing
    if len(edges) != 2 or any(edge.implied or edge.flow.arrow.label is not None for edge in edges):
        return
    links = {
        edge.flow.index: (WantedEdge(edge.source.id, edge.target.id, label, kept=True),)
        for edge, label in zip(edges, ("yes", "no"), strict=True)
    }
    yield from asked(context).changed(rule, "Label its ways yes and no", GraphChange(edges=links))
