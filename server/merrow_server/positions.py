"""The one place where positions become UTF-16, as the Language Server Protocol and SARIF count them, and come back.

Inside Merrow a column counts code points. Outside, a character of the astral planes (most emoji) counts two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypedDict

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


Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""How a client counts the characters of a line; LSP's own name for each."""


def units(text: str, encoding: Encoding) -> int:
    """How many code units ``text`` takes."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return utf16_length(text) if encoding == "utf-16" else len(text.encode("utf-8", "surrogatepass"))


def column_from_units(line: str, character: int, encoding: Encoding) -> int:
    """The code point offset of the offset ``character``, counted in code units, in ``line``.

    An offset within a character means its beginning; one beyond the line is its end.
    """
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    if encoding == "utf-16":
        return from_utf16(line, character)
    counted = 0
    for column, letter in enumerate(line):
        counted += units(letter, encoding)
        if counted > character:
            return column
    return len(line)


def character_at(lines: Sequence[str], position: Position, encoding: Encoding) -> int:
    """``position.column`` of the text made of ``lines``, in code units; beyond the line it is the line's end."""
    line, column = position
    # Nearly always so; a line's ending takes two characters at most.
    if line < len(lines) and column + 2 <= len(lines[line]) and (encoding == "utf-32" or lines[line].isascii()):
        return column
    content = _content(lines, line)
    if len(content) < _LONG:
        return units(content[:column], encoding)
    column = min(column, len(content))
    # Asked with the line as it is kept: so many places of one long line take as long as there are, and not as long as it is.
    return column + bisect_left(_more_units(lines[line], encoding), column)


_LONG = 256
"""Characters from which on it is remembered where a line's characters take several units."""


@lru_cache(maxsize=16)
def _more_units(line: str, encoding: Encoding) -> Sequence[int]:
    """The columns of characters that take several code units: each once for every unit but the first."""
    return [column for column, letter in enumerate(line) for _ in range(units(letter, encoding) - 1)]


def position_at(lines: Sequence[str], line: int, character: int, encoding: Encoding) -> Position:
    """The position of a client's ``line`` and ``character``; beyond the text it is the text's end."""
    if line >= len(lines):
        last = len(lines) - 1
        if not lines or lines[last].endswith(("\n", "\r")):
            return Position(len(lines), 0)
        return Position(last, len(lines[last]))
    return Position(line, column_from_units(_content(lines, line), character, encoding))
