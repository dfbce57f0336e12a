"""Lines that come below others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Position, Range, Span, TextEdit

_INDENT = re.compile(r"[ \t]*")
_SEMICOLON = re.compile(r"[ \t]*;[ \t]*")
_SEMICOLON_BEFORE = re.compile(r"[ \t]*;[ \t]*\Z")


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


def without_statement(block: Block, span: Span) -> TextEdit | None:
    """The edit that takes a statement out of a block: its lines, or only what it says where others share them; None where
    nothing is there.
    """
    rest = block.text[: span[0]] + block.text[span[1] :]
    if not rest.strip(" \t\r\n;"):
        return TextEdit(Range(Position(block.line, 0), Position(block.line + block.line_count, 0)), "")
    after = _SEMICOLON.match(block.text, span[1])
    if after is not None:
        return TextEdit(block.range((span[0], after.end())), "")
    before = _SEMICOLON_BEFORE.search(block.text[: span[0]])
    return None if before is None else TextEdit(block.range((before.start(), span[1])), "")
