"""Words on edges at composites: ``again``, ``over``, ``each`` and ``first`` where they mean nothing, or nothing good."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Cause, Diagnostic, Fix, Severity
from merrow_analysis.edits.labels import write_label
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, FIRST, OVER
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.rules.box_kinds import kind_causes, titled_only, write_parentheses
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.end_rules import ends_inside
from merrow_analysis.rules.fixes.box_fixes import draw_map, into_box, other_word
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.fixes.loop_fixes import looped
from merrow_analysis.rules.misplaced import Misplaced, is_late
from merrow_analysis.rules.operator_rules import OPERATOR_DISAGREEMENT, UNKNOWN_OPERATOR
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import edges_of_arrow, fix, listed, named, part_range, report
from merrow_analysis.text import TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.QUICK_LOOK)
MISPLACED_WORD = _FAMILY.rule(
    "MW118",
    "misplaced-word",
    "An edge says `again`, `over`, `each` or `first` where no Loop or Map gives that a meaning.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.PATHS,
)


@_FAMILY.checked_by
def check_words(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about words on edges."""
    graph = context.graph
    misplaced = context.misplaced
    for one in misplaced:
        place, why = part_range(one.edge, one.word), _why(graph, one)
        fixes, because = _repairs(context, one, misplaced), _causes(graph, one.edge)
        yield report(MISPLACED_WORD, place, why, fixes=fixes, because=because)
    for record, said in graph.core.words.items():
        if said.word != FIRST:
            continue
        edge = graph.edge(record)
        again = {feed.port for other in edge.target.again_in for feed in other.feeds}
        if edge.feeds and again.isdisjoint(feed.port for feed in edge.feeds):
            message = (
                f"`first` gives way to what `again` brings, but no `again` edge leads to port `{edge.port}` of "
                f"{named(edge.target)}; remove `first`."
            )
            yield report(MISPLACED_WORD, part_range(edge, FIRST), message, fixes=without_word(graph, edge))


def misplaced_causes(context: GraphContext) -> dict[EdgeRecord, tuple[Cause, ...]]:
    """The edges with a word that is out of place, and where that, and what explains it, is reported."""
    return {
        one.edge.record: (Cause(MISPLACED_WORD.code, part_range(one.edge, one.word)), *_causes(context.graph, one.edge))
        for one in context.misplaced
    }


def _causes(graph: TypedGraph, edge: TypedEdge) -> list[Cause]:
    """What is reported of the subgraphs around an edge, and of an input or output that should not be in there."""
    ends = ends_inside(graph)
    found = [ends[node.id] for node in (edge.source, edge.target) if node.id in ends]
    return [*found, *kind_causes(graph, edge, UNKNOWN_OPERATOR, OPERATOR_DISAGREEMENT)]


def without_word(graph: TypedGraph, edge: TypedEdge) -> list[Fix]:
    """The fix that takes the word off an edge."""
    said, label = graph.core.words.get(edge.record), edge.flow.arrow.label
    if said is None or label is None or len(edges_of_arrow(edge, graph)) > 1:
        return []
    if said.text is None:
        end = label.span[1] + 1
        block = edge.flow.block
        if block.text[label.span[0] - 1 : label.span[0]] != "|" or block.text[label.span[1] : end] != "|":
            return []
        # The bars go with what is between them.
        return [fix(f"Remove {said.word}", [TextEdit(block.range((label.span[0] - 1, end)), "")], safe=False)]
    return [fix(f"Remove {said.word}", [write_label(edge, said.text)], safe=False)]


def _why(graph: TypedGraph, one: Misplaced) -> str:
    """What is missing for a word to have its meaning."""
    if is_late(graph, one):
        return f"`{one.word}` comes before the output in the text of an edge; write `{_in_order(one)}`."
    titled = titled_only(graph, one)
    if titled is not None:
        group, kind = titled
        return (
            f"`{one.word}` needs a {kind}, but the title of {group.id} has no parentheses, so {group.id} only groups its "
            f"nodes; write `{kind} ()` as its title."
        )
    edge, boxes = one.edge, graph.composites
    source, target, border = edge.source.id, edge.target.id, edge.border
    left = boxes.boxes[border.left[0]] if border.left else None
    entered = boxes.boxes[border.entered[-1]] if border.entered else None
    if edge.word is not None:
        return f"An edge has one word, and this one says `{edge.word}` already; remove `{one.word}`."
    if one.word == AGAIN:
        crossed = left or entered
        if crossed is not None and crossed.implied:
            # Such a Loop has no name in the text.
            return (
                f"`again` brings a value to the next turn of a Loop, but {target if left else source} lies outside of the "
                f"Loop that arrows back make of {listed(boxes.members(crossed.id))}; remove `again`."
            )
        if left is not None:
            return (
                f"`again` brings a value to the next turn of {left.id}, but this edge leads out of it to {target}; "
                f"move {target} into {left.id}, or remove `again`."
            )
        if entered is not None:
            return (
                f"`again` brings a value to the next turn of {entered.id}, but {source} lies outside of it; move "
                f"{source} into {entered.id}, or remove `again`."
            )
        both = source if source == target else f"{source} and {target}"
        lie = "lies" if source == target else "lie"
        return (
            f"`again` brings a value to the next turn of a Loop or Map, but {both} {lie} in none; draw a Loop around "
            "the nodes that are to run again."
        )
    if one.word == OVER:
        if left is not None:
            return (
                f"`over` marks an edge out of a Loop whose turns have run out, but {source} lies in the Map {left.id}; "
                "lead it from a node that lies directly in the Loop."
            )
        around = boxes.around(source)
        where = f"this edge stays in {around[0]}" if around else f"{source} lies in no Loop"
        return f"`over` marks an edge out of a Loop whose turns have run out, but {where}; remove `over`."
    if one.word == EACH:
        where = f"{target} lies in no Map that this edge enters"
        return f"`each` takes a list apart for the items of a Map, but {where}; draw a Map around {target}."
    if entered is None:
        return "`first` marks an edge into a Loop or Map, but this edge enters none; remove `first`."
    return (
        f"`first` gives way to what `again` brings, but no `again` edge leads to {target}; draw one in {entered.id}, or "
        "remove `first`."
    )


def _in_order(one: Misplaced) -> str:
    """The text of an edge with its word where it belongs."""
    label = one.edge.flow.arrow.label
    parts = [] if label is None else [part.strip() for part in label.text.split(":")]
    at = parts.index(one.word)
    left = [*parts[:at], *parts[at + 1 :]]
    # `output:` names an output alone, where `output:word` would read as a port.
    return ":".join((one.word, *left, *([""] if at == len(parts) - 1 else [])))


def _repairs(context: GraphContext, one: Misplaced, misplaced: list[Misplaced]) -> Iterator[Fix]:
    """Draw the Loop or Map that gives the word a meaning, or take the word off."""
    graph = context.graph
    if is_late(graph, one):
        if len(edges_of_arrow(one.edge, graph)) == 1:
            yield fix(f"Write {_in_order(one)}", [write_label(one.edge, _in_order(one))], safe=False)
        return
    titled = titled_only(graph, one)
    if titled is not None:
        yield from write_parentheses(*titled)
    if one.word == AGAIN and not one.edge.left and not one.edge.entered:
        handles = {one.edge.source.index, one.edge.target.index}
        component = next((cycle for cycle in graph.cycles if handles <= set(cycle)), None)
        if component is None and len(handles) == 1:
            component = list(handles)
        if component is not None:
            marked = {other.edge.record for other in misplaced if other.word == AGAIN}
            yield from looped(context, MISPLACED_WORD, component, marked)
    if one.word == AGAIN and bool(one.edge.left) != bool(one.edge.entered):
        lost, boxes = (one.edge.target, one.edge.left) if one.edge.left else (one.edge.source, one.edge.entered[::-1])
        yield from into_box(context, MISPLACED_WORD, lost, boxes[0])
    if one.word == EACH:
        yield from draw_map(context, MISPLACED_WORD, one.edge)
    yield from other_word(context, MISPLACED_WORD, one.edge, one.word, None)
    if one.word != AGAIN and one.edge.border.scope is not None:
        yield from other_word(context, MISPLACED_WORD, one.edge, one.word, AGAIN)
    yield from remove_edge(context, MISPLACED_WORD, one.edge.flow)
