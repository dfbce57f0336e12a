"""Texts with cursors in them, and answers drawn on the source.

A test writes ``<|>`` where the cursor stands; a selection is what lies between two of them. `drawn` puts carets under what
an answer speaks of, so that a failing test is a picture.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.provider import Provider
from merrow_analysis.text import Position, Range, line_content, split_lines

CURSOR = "<|>"


class Marked(NamedTuple):
    """A text without its marks, the place of each mark, and the analysis of the text."""

    text: str
    positions: tuple[Position, ...]
    analysis: Analysis

    @property
    def position(self) -> Position:
        """The one cursor."""
        (position,) = self.positions
        return position

    @property
    def range(self) -> Range:
        """The selection: between the two marks, or the empty range at the one."""
        return Range(self.positions[0], self.positions[-1])


def marked(text: str, provider: Provider | None = None) -> Marked:
    """Take the marks out of a text and analyse what is left."""
    plain, positions = unmarked(text)
    return Marked(plain, positions, analyse(plain, provider=provider))


def unmarked(text: str) -> tuple[str, tuple[Position, ...]]:
    """A text without its marks, and where they stood in it."""
    pieces = text.split(CURSOR)
    assert len(pieces) > 1, "the text has no cursor"
    positions = []
    before = ""
    for piece in pieces[:-1]:
        before += piece
        positions.append(end_of(before))
    return "".join(pieces), tuple(positions)


def end_of(text: str) -> Position:
    """The position behind the last character of a text."""
    lines = split_lines(text)
    if not lines:
        return Position(0, 0)
    last = lines[-1]
    return Position(len(lines), 0) if last.endswith(("\n", "\r")) else Position(len(lines) - 1, len(last))


def drawn(text: str, ranges: Iterable[Range | tuple[Range, str]]) -> str:
    """The lines that ranges lie on, each followed by carets under them, with a word beside where one is given.

    An empty range is drawn as ``|`` before its place; of a range over several lines each is drawn.
    """
    lines = [line_content(line) for line in split_lines(text)]
    marks: list[tuple[int, int, int, str]] = []
    for entry in ranges:
        place, word = entry if isinstance(entry[1], str) else (entry, "")
        assert isinstance(place, Range)
        for number in range(place.start.line, place.end.line + 1):
            line = lines[number] if number < len(lines) else ""
            start = place.start.column if number == place.start.line else 0
            end = place.end.column if number == place.end.line else len(line)
            marks.append((number, start, end, word))
    drawing: list[str] = []
    shown: int | None = None
    for number, start, end, word in sorted(marks):
        if number != shown:
            drawing.append(lines[number] if number < len(lines) else "")
            shown = number
        drawing.append((" " * start + ("^" * (end - start) or "|") + (f" {word}" if word else "")).rstrip())
    return "\n".join(drawing)


def slice_of(text: str, place: Range) -> str:
    """The text of a range."""
    lines = split_lines(text)
    if place.start.line >= len(lines):
        return ""
    if place.start.line == place.end.line:
        return lines[place.start.line][place.start.column : place.end.column]
    middle = lines[place.start.line + 1 : place.end.line]
    last = lines[place.end.line][: place.end.column] if place.end.line < len(lines) else ""
    return lines[place.start.line][place.start.column :] + "".join(middle) + last
