"""What says that a subgraph is a Loop or a Map, where that is misspelled or contradicts itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.schema import LOOP_KEYS, MAP_KEYS
from merrow_analysis.diagnostics import Cause, Diagnostic, Fix
from merrow_analysis.graph.boxes.composites import kind_of, kinds_said
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, FIRST, OVER
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.rules.box_parameters import title_range
from merrow_analysis.rules.misplaced import Misplaced
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import fix, listed, report
from merrow_analysis.suggest import closest
from merrow_analysis.text import TextEdit

_TITLE = re.compile(r"\s*([A-Za-z]+)\s*\(")
_TITLES = {"loop": "Loop", "map": "Map"}
_MEANING: dict[str, tuple[str, ...]] = {AGAIN: ("Loop", "Map"), OVER: ("Loop",), EACH: ("Map",), FIRST: ("Loop", "Map")}
"""In what a word on an edge means something."""


def box_kinds(group: Subgraph, unknown: Rule, disagreement: Rule) -> Iterator[Diagnostic]:
    """Findings about what a subgraph is, of two rules of operators."""
    kinds = kinds_said(group)
    if len({kind for _, kind in kinds}) > 1:
        claims = [f"its {place} says {'Loop' if kind == 'loop' else 'Map'}" for place, kind in kinds]
        message = f"It is not clear what {group.id} is: {listed(claims)}. Make them agree."
        yield report(disagreement, group.range, message)
    elif kind_of(group) is None:
        yield from _misspelled(group, unknown)


def kind_causes(graph: TypedGraph, edge: TypedEdge, unknown: Rule, disagreement: Rule) -> list[Cause]:
    """What is reported of the subgraphs around an edge, by which a word on it may mean nothing."""
    around = {group.id: group for node in (edge.source, edge.target) for group in graph.flow.around(node.id)}
    return [
        Cause(box_kind.code, box_kind.range)
        for group in around.values()
        for box_kind in box_kinds(group, unknown, disagreement)
    ]


def led_to_boxes(graph: TypedGraph, node: TypedNode, unknown: Rule, *, out: bool = False) -> list[Cause]:
    """Where it is reported that edges lead to the subgraphs around a node (``out``: from them), and so not to what is inside."""
    boxes = (graph.by_id.get(group.id) for group in graph.flow.around(node.id))
    return [
        Cause(unknown.code, box.flow.range)
        for box in boxes
        if box is not None and (box.outgoing if out else box.incoming)
    ]


def titled_only(graph: TypedGraph, mistake: Misplaced) -> tuple[Subgraph, str] | None:
    """A subgraph around an edge that is titled Loop or Map without parentheses, and which of both, where that would give a word
    its meaning.
    """
    flow, source, target = graph.flow, mistake.edge.source.id, mistake.edge.target.id
    around = list(flow.around(source if mistake.word == OVER else target))
    if mistake.word == AGAIN:
        both = {group.id for group in flow.around(source)}
        around = [group for group in around if group.id in both]
    titled = ((group, _TITLES.get(group.title.strip().lower(), "")) for group in around if kind_of(group) is None)
    return next(((group, kind) for group, kind in titled if kind in _MEANING.get(mistake.word, ())), None)


def write_parentheses(group: Subgraph, kind: str) -> Iterator[Fix]:
    """Make a Loop or Map of a subgraph whose title says one of these words alone."""
    label, name, text = group.label, group.name, group.block.text
    start = -1 if label is None else text.find(group.title, *label.span)
    if label is None or start < 1:
        return
    end, title = start + len(group.title), f"{kind} ()"
    is_quoted = text[start - 1] == '"' and text[end : end + 1] == '"'
    if name is not None and name.span == label.span:
        # The title alone is the id as well, by which edges may lead to it, and a Loop or Map needs one.
        start, end = (start - 1, end + 1) if is_quoted else (start, end)
        written = f'{name.text.strip()}["{title}"]'
    else:
        # Between brackets alone Mermaid refuses parentheses.
        written = title if is_quoted else f'"{title}"'
    # Its nodes run several times then, which may bring other findings.
    yield fix(f"Write {title}", [TextEdit(group.block.range((start, end)), written)], safe=False)


def _misspelled(group: Subgraph, unknown: Rule) -> Iterator[Diagnostic]:
    """A title or class that is nearly a Loop's or Map's."""
    match = _TITLE.match(group.title)
    if match is not None:
        near = closest(match[1], ("Loop", "Map"))
        keys = parse_label(group.title).parameters
        if near is not None and any(key in (LOOP_KEYS if near == "Loop" else MAP_KEYS) for key in keys):
            message = (
                f"The title of {group.id} begins with `{match[1]}`, which is nothing that runs; did you mean {near}?"
            )
            place = title_range(group, match.span(1))
            # Its nodes run several times then, which may bring other findings.
            fixes = [fix(f"Write {near}", [TextEdit(place, near)], safe=False)]
            yield report(unknown, place, message, fixes=fixes)
            return
    for use in group.classes:
        name = use.name.text
        near = closest(name, ("LoopOp", "MapOp"))
        if near is not None and name.endswith("Op"):
            message = f"{group.id} has class `{name}`, which makes nothing of a subgraph; did you mean `{near}`?"
            fixes = [fix(f"Write {near}", [TextEdit(use.range, near)], safe=False)]
            yield report(unknown, use.range, message, fixes=fixes)
