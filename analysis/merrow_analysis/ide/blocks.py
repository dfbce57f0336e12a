"""From places in a file to the blocks of its diagram, and back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Position, Range, line_content, split_lines


def block_at(diagram: Diagram, line: int) -> Block | None:
    """The block that a line belongs to; None beyond the text."""
    index = bisect_right(diagram.blocks, line, key=_line) - 1
    if index < 0:
        return None
    block = diagram.blocks[index]
    return block if line < block.line + max(1, block.line_count) else None


def blocks_in(diagram: Diagram, place: Range) -> Iterator[Block]:
    """The blocks that a range touches, in order."""
    blocks = diagram.blocks
    index = max(bisect_right(blocks, place.start.line, key=_line) - 1, 0)
    while index < len(blocks) and blocks[index].line <= place.end.line:
        yield blocks[index]
        index += 1


def offset_in(block: Block, position: Position) -> int:
    """The offset into a block's text of a position on one of its lines; a column beyond the line means its end."""
    before, line = 0, ""
    for number, text in enumerate(split_lines(block.text)):
        if number == position.line - block.line:
            line = text
            break
        before += len(text)
    return before + min(position.column, len(line_content(line)))


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
