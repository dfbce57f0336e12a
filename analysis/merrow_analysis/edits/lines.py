"""Lines that come below others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Position, Range, TextEdit

_INDENT = re.compile(r"[ \t]*")


def indentation(block: Block) -> str:
    """The spaces and tabs before a block's first line."""
    indent = _INDENT.match(block.text)
    return indent.group() if indent else ""


def insert_line_after(block: Block, line: str) -> TextEdit:
    """An edit that adds a line of its own below a block, indented as the block's first line is."""
    return insert_lines_after(block, [indentation(block) + line])


def insert_lines_after(block: Block, lines: Iterable[str]) -> TextEdit:
    """An edit that adds lines of their own below a block. Its line endings are line feeds; see `with_line_ending`."""
    if block.text.endswith(("\n", "\r")):
        place = Position(block.line + block.line_count, 0)
        return TextEdit(Range(place, place), "".join(f"{line}\n" for line in lines))
    place = block.position(len(block.text))
    return TextEdit(Range(place, place), "".join(f"\n{line}" for line in lines))
