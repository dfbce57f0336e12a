"""What is read into a chart before its nodes are resolved: the ends and loops of a drawing, and loops that arrows say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.operators import OperatorTable
from merrow_analysis.graph.arrows.loops import ArrowLoop, Arrows, loops_of
from merrow_analysis.graph.boxes.composites import NO_COMPOSITES, Composite, Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN, WordedLabel
from merrow_analysis.graph.drawings.drawing import (
    is_decision,
    is_diamond,
    is_interface,
    names_operator,
    says_again,
    with_ends,
)
from merrow_analysis.graph.drawings.notes import ReadingNote
from merrow_analysis.graph.drawings.reading import drawn_once, read_arrows, read_drawing
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.records import Chart, EdgeRecord, Rows, WrittenNode
from merrow_analysis.graph.resolve import FlowchartReading, NodeParameter, PlainKind, Role

IMPLIED_LOOP = "LOOP"
"""The id of a Loop that nothing is written of; further ones are numbered."""
TURNS = "turns"
"""The key by which the step where a Loop without a box begins says how many turns there are at most."""


@dataclass(frozen=True, slots=True)
class ChartMeaning:
    """What is read into a chart. ``chart`` is what is typed, with all that a drawing implies; the rest as in `Graph`."""

    chart: Chart
    reading: FlowchartReading
    composites: Composites = NO_COMPOSITES
    words: Mapping[EdgeRecord, WordedLabel] = field(default_factory=dict)
    kinds: Mapping[str, PlainKind] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    results: frozenset[str] = frozenset()
    loose: bool = False
    notes: Sequence[ReadingNote] = ()


def meaning_of(
    chart: Chart,
    groups: Mapping[str, Subgraph],
    table: OperatorTable,
    reading: FlowchartReading,
    composites: Composites,
) -> ChartMeaning:
    """What a drawing means. Where boxes of Loops and Maps are written, these are its loops."""
    again = {edge for edge in chart.edges if says_again(edge, composites)} if composites else None
    drawing = read_drawing(chart, groups, table, reading.names, again)
    meant = with_ends(_chart(drawing.nodes, drawing.edges, chart), drawing.first, drawing.last)
    if drawing.loops:
        composites = boxes_of(drawing.loops, meant.nodes, groups)
    return ChartMeaning(
        meant,
        reading,
        composites,
        {edge: WordedLabel(AGAIN, edge.label_text) for loop in drawing.loops for edge in loop.back},
        drawing.kinds,
        drawing.roles,
        frozenset(drawing.results),
        loose=True,
        notes=tuple(drawing.notes),
    )


def _chart(nodes: Mapping[str, WrittenNode], edges: Sequence[EdgeRecord], written: Chart) -> Chart:
    """The chart of these; that which is written, where it is the same."""
    if len(nodes) == len(written.nodes) and len(edges) == len(written.edges):
        return written
    incoming: Rows = {}
    outgoing: Rows = {}
    for edge in edges:
        incoming.setdefault(edge.target, []).append(edge)
        outgoing.setdefault(edge.source, []).append(edge)
    return Chart(dict(nodes), list(edges), incoming, outgoing)


def written_meaning(
    chart: Chart,
    groups: Mapping[str, Subgraph],
    table: OperatorTable,
    reading: FlowchartReading,
    composites: Composites,
    outputs: Sequence[str] | None,
    drawn: bool,
) -> ChartMeaning:
    """What is read into a chart whose ends are written; ``drawn`` says that its arrows are read as those of a drawing."""
    records = [chart.nodes[name] for name in outputs or () if name in chart.nodes]
    results = frozenset(record.id for record in records if names_operator(record, table) and not is_interface(record))
    if not drawn or composites:
        return ChartMeaning(chart, reading, composites, results=results, loose=drawn)
    read = read_arrows(chart, groups)
    drawn_once(read, {name for name, node in read.nodes.items() if _may_ask(node, table)})
    meant = _chart(read.nodes, read.edges, chart)
    return ChartMeaning(meant, reading, composites, results=results, loose=True, notes=read.notes)


def _may_ask(node: WrittenNode, table: OperatorTable) -> bool:
    return is_decision(node, table) or (is_diamond(node) and not names_operator(node, table) and not is_interface(node))


def may_say_again(edge: EdgeRecord) -> bool:
    """Whether a label may have the word ``again``."""
    label = edge.arrow.label
    return label is not None and AGAIN in label.text and any(part.strip() == AGAIN for part in label.text.split(":"))


def loops_written(
    read: ChartMeaning, asks: Collection[str], barred: Collection[str], drawn: bool
) -> ChartMeaning | None:
    """The Loops that arrows make in a chart without boxes of Loops and Maps: those that say ``again``, and where ``drawn`` all
    arrows back; None where there are none. Of nodes that are ``barred`` they make none.
    """
    chart = read.chart
    marked: dict[EdgeRecord, WordedLabel] = {}
    for edge in chart.edges:
        label = _without_again(edge, edge.source in asks) if may_say_again(edge) else None
        if label is not None:
            marked[edge] = label
    if not marked and not drawn:
        return None
    edges = [edge for edge in chart.edges if not edge.carries_nothing]
    loops = loops_of(Arrows(list(chart.nodes), edges, asks, marked, all_back=drawn, barred=barred))
    if not loops:
        return None
    composites = boxes_of(loops, chart.nodes, ())
    words = {
        edge: marked.get(edge) or WordedLabel(AGAIN, edge.arrow.label.text if edge.arrow.label is not None else None)
        for loop in loops
        for edge in loop.back
    }
    return replace(read, composites=composites, words=words, loose=True)


def _without_again(edge: EdgeRecord, from_question: bool) -> WordedLabel | None:
    """The word ``again`` of a label and the rest of it; out of a Decision the first part is the case."""
    parts = (edge.label_text or "").split(":")
    first = 1 if from_question else 0
    place = next((place for place, part in enumerate(parts) if place >= first and part.strip() == AGAIN), None)
    if place is None or (place > 0 and not from_question):
        return None
    return WordedLabel(AGAIN, ":".join([*parts[:place], *parts[place + 1 :]]).strip() or None)


def boxes_of(loops: Sequence[ArrowLoop], nodes: Mapping[str, WrittenNode], taken: Iterable[str]) -> Composites:
    """The Loops as composites, with ids that nothing else has."""
    known = {*nodes, *taken}
    free = (name for number in count(1) if (name := f"{IMPLIED_LOOP}{number if number > 1 else ''}") not in known)
    ids: dict[ArrowLoop, str] = {}
    inside: dict[str, str] = {}
    for loop in loops:
        ids[loop] = next(free)
        inside |= dict.fromkeys(loop.members, ids[loop])
    boxes = {
        name: Composite(
            name,
            "loop",
            None if loop.around is None else ids[loop.around],
            tuple([node for node in loop.members if inside[node] == name]),
            _turns_of(nodes[loop.head]),
            implied=True,
            head=loop.head,
        )
        for loop, name in ids.items()
    }
    return Composites(boxes, inside)


def _turns_of(record: WrittenNode) -> dict[str, NodeParameter]:
    for number, (metadata, _) in enumerate(record.metadata):
        turns = parse_metadata(metadata.body).values.get(TURNS)
        if isinstance(turns, int) and not isinstance(turns, bool) and turns > 0:
            return {"max": NodeParameter(turns, number)}
    return {}
