"""Selections that grow: word, label, vertex, group, statement, subgraph, the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.ide.cursor.blocks import end_of
from merrow_analysis.ide.cursor.lookup import spot
from merrow_analysis.ide.subgraphs import stretches
from merrow_analysis.places.box_places import title_parameters
from merrow_analysis.places.node_places import source_span
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.syntax.tree import Block, Chain, FrontMatter, Metadata, SubgraphStart, Vertex
from merrow_analysis.text import Position, Range, Span

_WORD = re.compile(r"\w+")
_DEEPEST = 64
"""YAML entries followed downwards at most, so that a nest of brackets does not make an endless list of selections."""


def selections(analysis: Analysis, position: Position) -> list[Range]:
    """The ranges around a position, each inside the next, the whole text last; never empty."""
    whole = Range(Position(0, 0), end_of(analysis.diagram))
    here = spot(analysis, position)
    if here is None:
        return [whole]
    block, offset = here
    spans = [span for span in _spans(analysis, block, offset) if span[0] <= offset <= span[1] and span[0] < span[1]]
    spans.sort(key=lambda span: (span[1] - span[0], span))
    ranges = [block.range(span) for span in spans]
    place = block.position(offset)
    around = [stretch.range for stretch in stretches(analysis.diagram)]
    ranges += sorted(
        (outer for outer in around if outer.start <= place <= outer.end), key=lambda outer: outer.start, reverse=True
    )
    return _growing([*ranges, whole])


def _growing(ranges: list[Range]) -> list[Range]:
    """Those that hold all that came before, each once."""
    kept: list[Range] = []
    for place in ranges:
        if not kept or (place != kept[-1] and place.start <= kept[-1].start and kept[-1].end <= place.end):
            kept.append(place)
    return kept


def _spans(analysis: Analysis, block: Block, offset: int) -> Iterator[Span]:
    text = block.text
    line_start = text.rfind("\n", 0, offset) + 1
    for match in _WORD.finditer(text, line_start):
        if match.start() > offset:
            break
        yield match.span()
    for place in occurrences_in(analysis, block):
        yield place.span
    for statement in block.statements:
        if not statement.span[0] <= offset <= statement.span[1]:
            continue
        yield statement.span
        if isinstance(statement, Chain):
            yield from _chain(statement, block, offset)
        elif isinstance(statement, SubgraphStart) and statement.title is not None:
            yield statement.title.span
            for parameter, (start, end) in title_parameters(block, statement.title):
                yield start, end
                yield end - (parameter.value_span[1] - parameter.value_span[0]), end
        elif isinstance(statement, FrontMatter):
            yield from _front_matter(statement, offset)


def _chain(chain: Chain, block: Block, offset: int) -> Iterator[Span]:
    for group in chain.groups:
        yield group[0].span[0], _end(group[-1])
        for vertex in group:
            yield vertex.span[0], _end(vertex)
            yield vertex.span
            if vertex.label is not None:
                yield from _bracket(vertex, block, vertex.label.span)
            if vertex.metadata is not None and vertex.metadata.span[0] <= offset <= vertex.metadata.span[1]:
                yield from _metadata(vertex.metadata, block)
    for arrow in chain.arrows:
        yield arrow.span
        if arrow.label is not None:
            yield arrow.label.span


def _end(vertex: Vertex) -> int:
    return vertex.metadata.span[1] if vertex.metadata is not None else vertex.span[1]


def _bracket(vertex: Vertex, block: Block, label: Span) -> Iterator[Span]:
    """A label, and the brackets around it with the quotes."""
    yield label
    end = vertex.span[1]
    if vertex.classes:
        end = block.text.rfind(":::", vertex.name.span[1], vertex.classes[0].span[0])
    if end > vertex.name.span[1]:
        yield vertex.name.span[1], end


def _metadata(metadata: Metadata, block: Block) -> Iterator[Span]:
    yield metadata.span
    document = parse_metadata(metadata.body)
    for key in document.values:
        name, value = document.places(key)
        yield source_span(metadata, block, value)
        yield source_span(metadata, block, (name[0], max(name[1], value[1])))


def _front_matter(front: FrontMatter, offset: int) -> Iterator[Span]:
    start = front.body_span[0]
    yield front.body_span
    document = read_front_matter(front.body, front.indent)
    path: tuple[str | int, ...] = ()
    value: object = document.values
    for _ in range(_DEEPEST):
        keys: list[str | int] = []
        if isinstance(value, dict):
            keys = list(value)
        elif isinstance(value, list):
            keys = list(range(len(value)))
        step = None
        for key in keys:
            places = document.places(*path, key)
            if places is None:
                continue
            (first, key_end), (value_start, value_end) = places
            last = max(key_end, value_end)
            if start + first <= offset <= start + last:
                yield start + value_start, start + value_end
                yield start + first, start + last
                step = key
        if step is None:
            return
        path = (*path, step)
        value = value[step]  # type: ignore[index]  # the key came from this very dict or list
