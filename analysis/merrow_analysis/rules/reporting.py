"""Making diagnostics and fixes out of places in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.diagnostics import NO_FIXES, Applicability, Cause, Diagnostic, Fix, Fixes, Related, Tag
from merrow_analysis.graph.flow import FlowEdge, FlowNode
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.graph.resolve import Claim
from merrow_analysis.places.edge_names import label_parts
from merrow_analysis.rules.registry import Rule
from merrow_analysis.syntax.tree import Block, Metadata
from merrow_analysis.text import Range, Span, TextEdit
from merrow_analysis.visible import visible


def report(
    rule: Rule,
    place: Range,
    message: str,
    *,
    related: Iterable[Related] = (),
    fixes: Iterable[Fix] = (),
    tags: tuple[Tag, ...] = (),
    because: Iterable[Cause] = (),
) -> Diagnostic:
    """A finding of ``rule``; ``because`` are others that explain it. What ``message`` quotes is made visible.

    ``fixes`` are its remedies, best first. A generator runs only when they are asked for.
    """
    return Diagnostic(
        rule.code,
        rule.name,
        rule.severity,
        visible(message),
        place,
        related=tuple(
            link if link.message.isprintable() else link._replace(message=visible(link.message)) for link in related
        ),
        fixes=Fixes(fixes) if fixes else NO_FIXES,
        tags=tags,
        because=tuple(because),
    )


def fix(title: str, edits: Iterable[TextEdit], *, safe: bool = True) -> Fix:
    return Fix(title, tuple(edits), Applicability.SAFE if safe else Applicability.UNSAFE)


def named(node: TypedNode) -> str:
    """A node with its operator, as messages call it: ``PY (Programmer)``."""
    return f"{node.id} ({node.spec.name})" if node.spec is not None else node.id


MOST_LISTED = 5
"""Words that a list in a message shows."""


def listed(words: Iterable[str], last: str = "and", most: int = MOST_LISTED) -> str:
    """``a, b and c``; long lists are cut."""
    all_words = list(words)
    if len(all_words) > most:
        return f"{', '.join(all_words[: most - 1])} {last} {len(all_words) - most + 1} more"
    if len(all_words) < 2:
        return "".join(all_words)
    return f"{', '.join(all_words[:-1])} {last} {all_words[-1]}"


def label_range(edge: TypedEdge) -> Range:
    """The text on an edge, or the arrow where there is none."""
    label = edge.flow.arrow.label
    return edge.flow.range if label is None else edge.flow.block.range(label.span)


def part_range(edge: TypedEdge, text: str | None) -> Range:
    """The part of the text on an edge that says this, its last one; the whole text where none says it literally."""
    for part in reversed(label_parts(edge.flow.arrow, edge.flow.block)):
        if part.text == text:
            return edge.flow.block.range(part.span)
    return label_range(edge)


def claim_range(node: FlowNode, claim: Claim) -> Range:
    """Where an operator is named."""
    if claim.place == "class":
        return node.classes[claim.index].range
    if claim.place == "op":
        metadata, block = node.metadata[claim.index]
        return block.range(metadata_value_span(metadata, "op") or metadata.span)
    if node.label is not None and node.label_block is not None:
        return node.label_block.range(_word_span(node.label_block, node.label.span, claim.word))
    return node.range


def _word_span(block: Block, span: Span, word: str) -> Span:
    start = block.text.find(word, span[0], span[1])
    return (start, start + len(word)) if start >= 0 else span


def parameter_range(node: TypedNode, key: str) -> Range:
    """Where a parameter's value stands."""
    parameter = node.resolution.parameters.get(key)
    if parameter is not None and parameter.block is not None:
        metadata, block = node.flow.metadata[parameter.block]
        return block.range(metadata_value_span(metadata, key) or metadata.span)
    if parameter is not None and node.flow.label is not None and node.flow.label_block is not None:
        return node.flow.label_block.range(
            _word_span(node.flow.label_block, node.flow.label.span, str(parameter.value))
        )
    return node.flow.range


def metadata_value_span(metadata: Metadata, key: str) -> Span | None:
    """The place in its block of a metadata value, or None where the text Mermaid reads is not the text that stands
    there.
    """
    start, end = metadata.body_span
    if end - start != len(metadata.body):
        return None
    value_start, value_end = parse_metadata(metadata.body).value_span(key)
    return start + value_start, start + value_end


_SPACE = re.compile(r"\s*")


class Continued(NamedTuple):
    """An arrow that goes on to another line than it began: the place that its author left unfinished, and why."""

    place: Range
    why: str
    fixes: list[Fix]


def continued(edge: FlowEdge) -> Continued | None:
    """What to say of an edge that is wrong because its arrow ends a line, and so takes its target from the next one.

    None for an arrow whose target is on its own line.
    """
    text, (start, end) = edge.block.text, edge.arrow.span
    line_end = text.find("\n", start)
    if line_end == -1:
        return None
    if line_end < end:
        why = "The text on this arrow continues onto the next line, up to the next arrow"
        return Continued(edge.block.range((start, start + len(text[start:line_end].rstrip()))), why, [])
    gap = _SPACE.match(text, end)
    if gap is None or line_end >= gap.end():
        return None
    kept = len(text[:start].rstrip())
    fixes: list[Fix] = []
    if text[text.rfind("\n", 0, start) + 1 : start].strip():
        removed = TextEdit(edge.block.range((kept, end)), "")
        fixes = [Fix("Remove the unfinished arrow", (removed,), Applicability.UNSAFE)]
    return Continued(edge.block.range((start, end)), "This arrow continues onto the next line", fixes)


def spelled(*parts: str | None) -> str:
    """A label of these parts, without those that it doesn't say."""
    return ":".join(part for part in parts if part)


MOST_SHARING = 50
"""An arrow that draws more edges than this is not repaired."""


def edges_of_arrow(edge: TypedEdge, graph: TypedGraph) -> list[TypedEdge]:
    """The edges that the arrow of ``edge`` draws, or the first ones of very many."""
    chart, own = graph.core.chart, edge.record
    edges, place = chart.edges, chart.numbers[own]

    def same(other: EdgeRecord) -> bool:
        return other.block is own.block and other.arrow is own.arrow

    first = last = place
    while first > 0 and last - first <= MOST_SHARING and same(edges[first - 1]):
        first -= 1
    while last + 1 < len(edges) and last - first <= MOST_SHARING and same(edges[last + 1]):
        last += 1
    return [graph.edge(record) for record in edges[first : last + 1]]


def why_unused(name: str, first: str) -> str:
    """Why no node uses what is declared as ``name``, as the end of a sentence; ``first`` is what nodes find by that name."""
    if name == first:
        return "no node uses it"
    return f"case does not count in its name, so nodes use `{first}`, which is declared first"
