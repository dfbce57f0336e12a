"""How a flowchart as people draw it is read: with the notation of the language, or by its shapes and words.

Where nothing says what goes in and what comes out (no class ``Interface``, no ``inputs:`` or ``outputs:``, and not both PROBLEM
and RETURN), the drawing's ends do: its round or so named beginnings and ends are inputs and outputs, and other ones get an
implied PROBLEM and RETURN. These have records as if they were written where the steps are that they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, OperatorTable
from merrow_analysis.graph.boxes.composites import Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.records import Chart, EdgeRecord, MentionRecord, WrittenNode
from merrow_analysis.graph.resolve import FlowchartReading, is_operator_class
from merrow_analysis.syntax.tree import Arrow, Name, Vertex

PROBLEM_ID = "PROBLEM"
ENTRY_POINT_ID = "ENTRY_POINT"
RETURN_ID = "RETURN"
END_IDS = frozenset({PROBLEM_ID, ENTRY_POINT_ID, RETURN_ID})
"""The ids that make an input or an output of a node, whatever it looks like."""

_PUBLISHED = re.compile(r"\s*(\w+)\s*<br[ \t]*/?[ \t]*>", re.IGNORECASE)
_INTERFACE = frozenset({"Interface", "interface", "INTERFACE"})
_DIAMONDS = frozenset({"diamond", "diam", "decision", "question"})


def shape_of(record: WrittenNode) -> str | None:
    """The shape that a node is drawn in: that of its metadata takes precedence over its brackets'."""
    for metadata, _ in reversed(record.metadata):
        shape = parse_metadata(metadata.body).values.get("shape")
        if isinstance(shape, str):
            return shape
    return record.shape


def is_diamond(record: WrittenNode) -> bool:
    """Whether a node is drawn as a diamond."""
    return (shape_of(record) if record.metadata else record.shape) in _DIAMONDS


def is_interface(record: WrittenNode) -> bool:
    """Whether a class or the metadata of a node says Interface."""
    for use in record.classes:
        if use.name.text in _INTERFACE:
            return True
    for metadata, _ in record.metadata:
        op = parse_metadata(metadata.body).values.get("op")
        if isinstance(op, str) and op.strip() in _INTERFACE:
            return True
    return False


def names_operator(record: WrittenNode, table: OperatorTable = BUILT_IN_TABLE) -> bool:
    """Whether a class (``CustomOp``), an ``op`` key or the published form of a label names an operator at a node.

    The published form is an operator's name alone in its line, with nothing or parameters after it: ``Custom<br/>(role: r)``.
    A bare name in a box, such as ``[Review]``, ``Review<br/>by a maintainer`` and a class such as ``decision`` are in any
    flowchart and do not count.
    """
    if record.classes and any(is_operator_class(use.name.text, table) for use in record.classes):
        return True
    if record.metadata and any("op" in parse_metadata(metadata.body).values for metadata, _ in record.metadata):
        return True
    return record.label is not None and _is_published(record.label.text, table)


def _is_published(label: str, table: OperatorTable) -> bool:
    match = _PUBLISHED.match(label)
    if match is None or table.named(match[1]) is None:
        return False
    parts = parse_label(label)
    return not parts.says_more and bool(parts.parameters or not parts.problems)


def reading_of(chart: Chart, names_ends: bool, table: OperatorTable) -> FlowchartReading:
    """How a flowchart is read; ``names_ends`` says that its front matter has ``inputs:`` or ``outputs:``."""
    nodes = chart.nodes
    drawn = not (names_ends or (PROBLEM_ID in nodes and RETURN_ID in nodes) or any(map(is_interface, nodes.values())))
    return FlowchartReading(not drawn or any(names_operator(record, table) for record in nodes.values()), drawn)


def says_again(edge: EdgeRecord, composites: Composites) -> bool:
    """Whether an edge inside of a Loop or Map has the word ``again``."""
    label = edge.arrow.label
    if label is None or composites.scope(edge.source, edge.target) is None:
        return False
    return any(part.strip() == AGAIN for part in label.text.split(":")[:2])


def has_operator(record: WrittenNode, table: OperatorTable, names: bool) -> bool:
    """Whether something written at a node says that it is not a plain step."""
    if names_operator(record, table) or any(use.name.text.endswith("Op") for use in record.classes):
        return True
    if not names:
        return False
    if any(table.by_class(use.name.text) is not None for use in record.classes):
        return True
    return record.label is not None and table.named(parse_label(record.label.text).lone_word) is not None


def is_decision(record: WrittenNode, table: OperatorTable) -> bool:
    """Whether a class, an ``op`` key or the published form says that a node is a Decision."""
    operators = [table.by_class(use.name.text) for use in record.classes if is_operator_class(use.name.text, table)]
    for metadata, _ in record.metadata:
        op = parse_metadata(metadata.body).values.get("op")
        operators += [table.by_op(op.strip())] if isinstance(op, str) else []
    if any(operator is not None and operator.spec.is_decision for operator in operators):
        return True
    match = _PUBLISHED.match(record.label.text) if record.label is not None else None
    spec = None if match is None else table.named(match[1])
    return spec is not None and spec.is_decision


def with_ends(drawn: Chart, first: Iterable[str], last: Iterable[tuple[str, EdgeRecord | None]]) -> Chart:
    """A chart with an implied PROBLEM, which leads to the ``first`` nodes, and RETURN, behind the ``last`` ones, with the label
    of an arrow where there is one; these lie behind all that is written.
    """
    nodes, added = dict(drawn.nodes), list[EdgeRecord]()
    for steps, name in (([(step, None) for step in first], PROBLEM_ID), (last, RETURN_ID)):
        for step, like in steps:
            mention = nodes[step].mentions[0]
            vertex, span = mention.vertex, mention.vertex.span
            other = _implied(name, vertex)
            if name not in nodes:
                nodes[name] = WrittenNode(name, (MentionRecord(other, mention.block),), shape="stadium")
            between = (name, step) if name == PROBLEM_ID else (step, name)
            vertices = (other, vertex) if name == PROBLEM_ID else (vertex, other)
            arrow = _arrow(span) if like is None else like.arrow
            added.append(EdgeRecord(*between, arrow, mention.block if like is None else like.block, *vertices))
    return with_edges(Chart(nodes, drawn.edges, drawn.incoming, drawn.outgoing), added)


def with_edges(chart: Chart, edges: Sequence[EdgeRecord]) -> Chart:
    """A chart with further edges behind its own; the chart itself where there are none."""
    if not edges:
        return chart
    after = Chart(chart.nodes, [*chart.edges, *edges], chart.incoming.copy(), chart.outgoing.copy())
    for edge in edges:
        after.incoming[edge.target] = [*after.incoming.get(edge.target, ()), edge]
        after.outgoing[edge.source] = [*after.outgoing.get(edge.source, ()), edge]
    return after


def _implied(name: str, place: Vertex) -> Vertex:
    return replace(place, name=Name(name, place.name.span), shape=None, label=None, classes=(), metadata=None)


def _arrow(span: tuple[int, int]) -> Arrow:
    return Arrow("arrow_point", "normal", 1, None, None, span)
