"""Fixes that draw a Loop: a box around a cycle, and the word ``again`` on its arrows back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.labels import between_bars, takes_label, write_label
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.graph.boxes.edge_words import AGAIN, OVER
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.knots import Knot, read_knot
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import asked, what_edges_bring
from merrow_analysis.rules.fixes.near_names import says_nearly
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import edges_of_arrow, fix, listed, spelled
from merrow_analysis.text import TextEdit

_MOST_BOXED = 100
"""Nodes of a cycle around which a box is offered."""


_MOST_CASES = 4
"""Cases that lead back for each of which a way out is drawn."""


def with_word(edge: TypedEdge, word: str) -> str:
    """The label of an edge with a word of composites."""
    label = edge.placed.label
    if label.case is not None:
        return spelled(label.case, word, "after" if label.after else label.port)
    written = edge.flow.arrow.label
    if edge.source.kind == "decision":
        if written is None:
            return spelled(ELSE, word)
        # On a cycle its source counts as unknown, and the case is not told from the rest.
        case, _, rest = written.text.partition(":")
        return spelled(case.strip(), word, rest.strip())
    if label.words is not None:
        return spelled(word, edge.port)
    if written is None:
        return word
    text = written.text.strip()
    return spelled(word, text.partition(":")[2] if says_nearly(edge, word) else text)


def _loop_around(
    context: GraphContext,
    component: Sequence[int],
    marked: Collection[EdgeRecord],
    last: EdgeRecord | None,
    more: Sequence[str],
) -> list[Fix]:
    """The fix that draws the Loop; ``more`` are lines below it."""
    if len(component) > _MOST_BOXED:
        return []
    graph = context.graph
    knot = read_knot(graph.core, component, marked)
    if last is not None and not marked:
        knot = knot or read_knot(graph.core, component, (last,))
        if knot is None and graph.by_id[last.source].kind == "decision":
            # A diamond chooses how far back to go; it is clear then that all of its arrows lead back.
            knot = read_knot(graph.core, component, graph.core.out_of(last.source))
    if knot is None:
        return []
    edits = _words(graph, knot, marked)
    if edits is None:
        return []
    inside = {graph.composites.inside.get(name) for name in knot.nodes}
    if None not in inside and len(inside) == 1:
        if more:
            edits.append(insert_lines_after(graph.flow.last_block, more))
        return [fix("Mark the edge back with again", edits, safe=False)] if edits else []
    box = _box(context, knot, more)
    return [] if box is None else [fix(f"Draw a Loop around {listed(knot.nodes)}", [*edits, box], safe=False)]


def looped(
    context: GraphContext,
    rule: Rule,
    component: Sequence[int],
    marked: Collection[EdgeRecord] = (),
    last: EdgeRecord | None = None,
) -> Iterator[Fix]:
    """The fix that makes a Loop of nodes that wait for each other, where it is clear which edges lead back: one after which
    nothing is wrong, with ways out for when the turns run out if that is what it takes; else one that brings what no edge
    of a cycle was checked for.

    ``marked`` are those of its edges that say ``again`` already, ``last`` is one that leads back where it is entered at several
    nodes. Where all its nodes lie in a composite, ``again`` is enough.
    """
    made = _loop_around(context, component, marked, last, [])
    try:
        lines = _ways_over(context.graph, component) if made else []
    except CannotWriteError:
        lines = []
    ended = _loop_around(context, component, marked, last, lines) if lines else []
    best = next(asked(context).sound(rule, [*made, *ended]), None)
    if best is not None:
        yield best
    else:
        yield from asked(context).sound(rule, made, what_edges_bring)


def _ways_over(graph: TypedGraph, component: Sequence[int]) -> list[str]:
    """Lines that lead where a diamond on a cycle leads otherwise, once the turns have run out. Raises `CannotWriteError`."""
    inside = set(component)
    lines: list[str] = []
    for node in (graph.node(index) for index in component):
        texts = {
            edge: edge.arrow.label.text.partition(":") for edge in node.flow.outgoing if edge.arrow.label is not None
        }
        back = [
            case.strip() for edge, (case, _, _) in texts.items() if graph.core.handles[edge.record.target] in inside
        ]
        if node.kind != "decision" or len(texts) < len(node.flow.outgoing) or len(back) > _MOST_CASES:
            continue
        for edge, (_, _, rest) in texts.items():
            if graph.core.handles[edge.record.target] not in inside:
                labels = [between_bars(spelled(case, OVER, rest.strip() or None)) for case in dict.fromkeys(back)]
                arrow = f"{indentation(edge.block)}{node.id} -->"
                lines += [f"{arrow}|{label}| {edge.record.target}" for label in labels]
    return lines


def _words(graph: TypedGraph, knot: Knot, marked: Collection[EdgeRecord]) -> list[TextEdit] | None:
    edits: list[TextEdit] = []
    for record in knot.back:
        if record in marked:
            continue
        edge = graph.edge(record)
        if len(edges_of_arrow(edge, graph)) > 1 or edge.implied:
            return None
        label = record.arrow.label
        if label is not None and edge.source.kind != "decision" and label.text.partition(":")[0].strip() == AGAIN:
            continue  # It says so already, outside of a Loop.
        text = with_word(edge, AGAIN)
        if not takes_label(edge, text):
            return None
        edits.append(write_label(edge, text))
    return edits


def _box(context: GraphContext, knot: Knot, more: Sequence[str]) -> TextEdit | None:
    """Lines at the end of the file that put the nodes into a Loop, and ``more`` below them; None where a subgraph has one of the
    nodes already.
    """
    flow, fixing = context.graph.flow, asked(context)
    if not fixing.in_subgraphs.isdisjoint(knot.nodes):
        return None
    first = flow.nodes[knot.nodes[0]].mentions[0].block
    indent = indentation(first)
    name = next(fixing.loop_ids[node] for node in knot.nodes if node in fixing.loop_ids)
    lines = [f'subgraph {name}["Loop (max: 3)"]', *(f"    {node}" for node in knot.nodes), "end"]
    return insert_lines_after(flow.last_block, [*(indent + line for line in lines), *more])
