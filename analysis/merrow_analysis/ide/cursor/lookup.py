"""What stands at a position of a text: the statement, the vertex or arrow, the key of a metadata block."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.places.node_places import source_span
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.places.symbols import Occurrence
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Arrow, Block, Chain, Metadata, Statement, Vertex
from merrow_analysis.text import Position, Span, line_content, split_lines


class Spot(NamedTuple):
    """A place in the text: the block that has it, and the offset into the block's text."""

    block: Block
    offset: int

    @property
    def statement(self) -> Statement | None:
        """The statement that covers or touches the place; one that begins there takes precedence over one that ends there."""
        last = None
        for statement in self.block.statements:
            if touches(statement.span, self.offset):
                last = statement
        return last


def touches(span: Span, offset: int) -> bool:
    """Whether a place lies in a span or at one of its ends, as a cursor does."""
    return span[0] <= offset <= span[1]


def block_at(diagram: Diagram, line: int) -> Block | None:
    """The block that a line belongs to; None beyond the text."""
    index = bisect_right(diagram.blocks, line, key=_line) - 1
    if index < 0:
        return None
    block = diagram.blocks[index]
    return block if line < block.line + max(1, block.line_count) else None


def offset_in(block: Block, position: Position) -> int:
    """The offset into a block's text of a position on one of its lines; a column beyond the line means its end."""
    before, line = 0, ""
    for number, text in enumerate(split_lines(block.text)):
        if number == position.line - block.line:
            line = text
            break
        before += len(text)
    return before + min(position.column, len(line_content(line)))


def spot(analysis: Analysis, position: Position) -> Spot | None:
    """The place in the syntax of a position; None where the text has no such line. A column beyond the end is the end."""
    block = block_at(analysis.diagram, position.line)
    return None if block is None else Spot(block, offset_in(block, position))


def line_at(analysis: Analysis, number: int) -> str:
    """A line of the text, without its ending; empty beyond the last one."""
    block = block_at(analysis.diagram, number)
    if block is None:
        return ""
    lines = split_lines(block.text) if block.line_count > 1 else [block.text]
    index = number - block.line
    return line_content(lines[index]) if 0 <= index < len(lines) else ""


def lines_between(analysis: Analysis, first: int, last: int) -> list[str]:
    """The lines from ``first`` up to and with ``last``, with their endings."""
    lines: list[str] = []
    blocks = analysis.diagram.blocks
    index = max(0, bisect_right(blocks, first, key=_line) - 1)
    while index < len(blocks) and blocks[index].line <= last:
        block = blocks[index]
        own = [block.text] if block.line_count <= 1 else split_lines(block.text)
        lines += own[max(0, first - block.line) : last - block.line + 1]
        index += 1
    return lines


def vertex_at(chain: Chain, offset: int) -> Vertex | None:
    """The vertex of a chain at a place; its metadata belong to it."""
    last = None
    for group in chain.groups:
        for vertex in group:
            end = vertex.span[1] if vertex.metadata is None else vertex.metadata.span[1]
            if touches((vertex.span[0], end), offset):
                last = vertex
    return last


def arrow_at(chain: Chain, offset: int) -> Arrow | None:
    """The arrow of a chain at a place."""
    return next((arrow for arrow in chain.arrows if touches(arrow.span, offset)), None)


def label_offset(vertex: Vertex, block: Block, offset: int) -> int | None:
    """The offset into the text of a vertex's label of a place in its block; None outside the label."""
    label = vertex.label
    if label is None or not touches(label.span, offset):
        return None
    at = block.text.find(label.text, *label.span)
    return None if at == -1 or not touches((at, at + len(label.text)), offset) else offset - at


def metadata_key_at(metadata: Metadata, block: Block, offset: int) -> tuple[str, Span] | None:
    """The key of a metadata block whose key or value stands at a place, with the span (in the block) of the key."""
    doc = parse_metadata(metadata.body)
    for key in doc.values:
        first, last = doc.places(key)
        whole = source_span(metadata, block, (first[0], max(first[1], last[1])))
        if touches(whole, offset):
            return key, source_span(metadata, block, first)
    return None


def _line(block: Block) -> int:
    return block.line


def occurrence_at(analysis: Analysis, position: Position) -> Occurrence | None:
    """What is named at a position, also just behind the name; the shortest name where one lies in another."""
    here = spot(analysis, position)
    if here is None:
        return None
    block, offset = here
    best: Occurrence | None = None
    for occurrence in occurrences_in(analysis, block):
        start, end = occurrence.span
        if start <= offset <= end and (best is None or _preference(occurrence, offset) < _preference(best, offset)):
            best = occurrence
    return best


def _preference(occurrence: Occurrence, offset: int) -> tuple[bool, int]:
    return offset == occurrence.span[1], occurrence.span[1] - occurrence.span[0]
