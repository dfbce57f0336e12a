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
    for mistake in misplaced:
        place, why = part_range(mistake.edge, mistake.word), _why(graph, mistake)
        fixes, because = _repairs(context, mistake, misplaced), _causes(graph, mistake.edge)
        yield report(MISPLACED_WORD, place, why, fixes=fixes, because=because)
    for record, worded in graph.core.words.items():
        if worded.word != FIRST:
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
        mistake.edge.record: (
            Cause(MISPLACED_WORD.code, part_range(mistake.edge, mistake.word)),
            *_causes(context.graph, mistake.edge),
        )
        for mistake in context.misplaced
    }


def _causes(graph: TypedGraph, edge: TypedEdge) -> list[Cause]:
    """What is reported of the subgraphs around an edge, and of an input or output that should not be in there."""
    ends = ends_inside(graph)
    causes = [ends[node.id] for node in (edge.source, edge.target) if node.id in ends]
    return [*causes, *kind_causes(graph, edge, UNKNOWN_OPERATOR, OPERATOR_DISAGREEMENT)]


def without_word(graph: TypedGraph, edge: TypedEdge) -> list[Fix]:
    """The fix that takes the word off an edge."""
    worded, label = graph.core.words.get(edge.record), edge.flow.arrow.label
    if worded is None or label is None or len(edges_of_arrow(edge, graph)) > 1:
        return []
    if worded.text is None:
        end = label.span[1] + 1
        block = edge.flow.block
        if block.text[label.span[0] - 1 : label.span[0]] != "|" or block.text[label.span[1] : end] != "|":
            return []
        # The bars go with what is between them.
        return [fix(f"Remove {worded.word}", [TextEdit(block.range((label.span[0] - 1, end)), "")], safe=False)]
    return [fix(f"Remove {worded.word}", [write_label(edge, worded.text)], safe=False)]


def _why(graph: TypedGraph, mistake: Misplaced) -> str:
    """What is missing for a word to have its meaning."""
    if is_late(graph, mistake):
        return f"`{mistake.word}` comes before the output in the text of an edge; write `{_in_order(mistake)}`."
    titled = titled_only(graph, mistake)
    if titled is not None:
        group, kind = titled
        return (
            f"`{mistake.word}` needs a {kind}, but the title of {group.id} has no parentheses, so {group.id} only groups its "
            f"nodes; write `{kind} ()` as its title."
        )
    edge, boxes = mistake.edge, graph.composites
    source, target, border = edge.source.id, edge.target.id, edge.border
    left = boxes.boxes[border.left[0]] if border.left else None
    entered = boxes.boxes[border.entered[-1]] if border.entered else None
    if edge.word is not None:
        return f"An edge has one word, and this one says `{edge.word}` already; remove `{mistake.word}`."
    if mistake.word == AGAIN:
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
    if mistake.word == OVER:
        if left is not None:
            return (
                f"`over` marks an edge out of a Loop whose turns have run out, but {source} lies in the Map {left.id}; "
                "lead it from a node that lies directly in the Loop."
            )
        around = boxes.around(source)
        where = f"this edge stays in {around[0]}" if around else f"{source} lies in no Loop"
        return f"`over` marks an edge out of a Loop whose turns have run out, but {where}; remove `over`."
    if mistake.word == EACH:
        where = f"{target} lies in no Map that this edge enters"
        return f"`each` takes a list apart for the items of a Map, but {where}; draw a Map around {target}."
    if entered is None:
        return "`first` marks an edge into a Loop or Map, but this edge enters none; remove `first`."
    return (
        f"`first` gives way to what `again` brings, but no `again` edge leads to {target}; draw one in {entered.id}, or "
        "remove `first`."
    )


def _in_order(mistake: Misplaced) -> str:
    """The text of an edge with its word where it belongs."""
    label = mistake.edge.flow.arrow.label
    parts = [] if label is None else [part.strip() for part in label.text.split(":")]
    at = parts.index(mistake.word)
    left = [*parts[:at], *parts[at + 1 :]]
    # `output:` names an output alone, where `output:word` would read as a port.
    return ":".join((mistake.word, *left, *([""] if at == len(parts) - 1 else [])))


def _repairs(context: GraphContext, mistake: Misplaced, misplaced: list[Misplaced]) -> Iterator[Fix]:
    """Draw the Loop or Map that gives the word a meaning, or take the word off."""
    graph = context.graph
    if is_late(graph, mistake):
        if len(edges_of_arrow(mistake.edge, graph)) == 1:
            yield fix(f"Write {_in_order(mistake)}", [write_label(mistake.edge, _in_order(mistake))], safe=False)
        return
    titled = titled_only(graph, mistake)
    if titled is not None:
        yield from write_parentheses(*titled)
    if mistake.word == AGAIN and not mistake.edge.left and not mistake.edge.entered:
        handles = {mistake.edge.source.index, mistake.edge.target.index}
        component = next((cycle for cycle in graph.cycles if handles <= set(cycle)), None)
        if component is None and len(handles) == 1:
            component = list(handles)
        if component is not None:
            marked = {other.edge.record for other in misplaced if other.word == AGAIN}
            yield from looped(context, MISPLACED_WORD, component, marked)
    if mistake.word == AGAIN and bool(mistake.edge.left) != bool(mistake.edge.entered):
        lost, boxes = (
            (mistake.edge.target, mistake.edge.left)
            if mistake.edge.left
            else (mistake.edge.source, mistake.edge.entered[::-1])
        )
        yield from into_box(context, MISPLACED_WORD, lost, boxes[0])
    if mistake.word == EACH:
        yield from draw_map(context, MISPLACED_WORD, mistake.edge)
    yield from other_word(context, MISPLACED_WORD, mistake.edge, mistake.word, None)
    if mistake.word != AGAIN and mistake.edge.border.scope is not None:
        yield from other_word(context, MISPLACED_WORD, mistake.edge, mistake.word, AGAIN)
    yield from remove_edge(context, MISPLACED_WORD, mistake.edge.flow)
