"""The one place where positions become UTF-16, as the Language Server Protocol and SARIF count them, and come back.

Inside Merrow a column counts code points. Outside, a character of the astral planes (most emoji) counts two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from merrow_analysis.text import Position, Range


class WirePosition(TypedDict):
    """A position as LSP writes it: both numbers from zero, ``character`` in UTF-16 code units."""

    line: int
    character: int


class WireRange(TypedDict):
    """A range as LSP writes it; ``end`` is not part of it."""

    start: WirePosition
    end: WirePosition


def utf16_length(text: str) -> int:
    """How many UTF-16 code units ``text`` takes."""
    if text.isascii():
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)


def to_utf16(line: str, column: int) -> int:
    """The UTF-16 offset of the code point offset ``column`` in ``line``; a column beyond the line is its end."""
    return utf16_length(line[:column])


def from_utf16(line: str, character: int) -> int:
    """The code point offset of the UTF-16 offset ``character`` in ``line``.

    An offset between the two halves of a character means its beginning; one beyond the line is its end.
    """
    if line.isascii():
        return min(character, len(line))
    units = 0
    for column, letter in enumerate(line):
        units += 2 if letter > "\uffff" else 1
        if units > character:
            return column
    return len(line)


def _content(lines: Sequence[str], number: int) -> str:
    return lines[number].rstrip("\r\n") if 0 <= number < len(lines) else ""


def wire_position(lines: Sequence[str], position: Position) -> WirePosition:
    """``position`` of the text made of ``lines`` (with or without their line endings), in UTF-16."""
    content = _content(lines, position.line)
    return {"line": position.line, "character": to_utf16(content, position.column)}


def wire_range(lines: Sequence[str], place: Range) -> WireRange:
    """``place`` of the text made of ``lines``, in UTF-16."""
    return {"start": wire_position(lines, place.start), "end": wire_position(lines, place.end)}


def position_from_wire(lines: Sequence[str], wire: WirePosition) -> Position:
    """The position in the text made of ``lines`` that LSP writes as ``wire``."""
    return Position(wire["line"], from_utf16(_content(lines, wire["line"]), wire["character"]))


def range_from_wire(lines: Sequence[str], wire: WireRange) -> Range:
    """The range in the text made of ``lines`` that LSP writes as ``wire``."""
    return Range(position_from_wire(lines, wire["start"]), position_from_wire(lines, wire["end"]))
