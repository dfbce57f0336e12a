"""The blocks of a diagram: those of a range, and the text they make together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Position, Range


def blocks_in(diagram: Diagram, place: Range) -> Iterator[Block]:
    """The blocks that a range touches, in order."""
    blocks = diagram.blocks
    index = max(bisect_right(blocks, place.start.line, key=_line) - 1, 0)
    while index < len(blocks) and blocks[index].line <= place.end.line:
        yield blocks[index]
        index += 1


def source_of(diagram: Diagram) -> str:
    """The text that a diagram was read from: every line belongs to one block."""
    return "".join(block.text for block in diagram.blocks)


def end_of(diagram: Diagram) -> Position:
    """The end of the text."""
    if not diagram.blocks:
        return Position(0, 0)
    last = diagram.blocks[-1]
    return last.position(len(last.text))


def _line(block: Block) -> int:
    return block.line
