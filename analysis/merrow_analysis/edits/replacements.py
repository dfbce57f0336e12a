"""Edits by offset: easy to make while a text is walked, and turned into edits by position at the end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from merrow_analysis.text import Position, Range, TextEdit, split_lines


class CannotWriteError(ValueError):
    """A change that would disturb what the text says about something else; the message is a sentence."""


class Replacement(NamedTuple):
    """An edit by offsets: the text from ``start`` up to ``end`` becomes ``new``."""

    start: int
    end: int
    new: str


class LineIndex:
    """The lines of a text, to turn offsets into positions and back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *accumulate(map(len, split_lines(text)))]

    def position(self, offset: int) -> Position:
        line = bisect_right(self.starts, offset) - 1
        if line and line == len(self.starts) - 1 and not self.text.endswith(("\n", "\r")):
            line -= 1
        return Position(line, offset - self.starts[line])

    def offset(self, position: Position) -> int:
        return self.starts[position.line] + position.column

    def span(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))


def edits_of(places: LineIndex, replacements: Sequence[Replacement]) -> tuple[TextEdit, ...]:
    """Replacements as edits, in the order of the text. Raises `ValueError` where they overlap."""
    ordered = _in_order(replacements)
    return tuple(TextEdit(places.span(replacement.start, replacement.end), replacement.new) for replacement in ordered)


def _in_order(replacements: Sequence[Replacement]) -> list[Replacement]:
    """Replacements in the order of the text; of several at one place the order stays. Raises `ValueError` where they overlap."""
    ordered = sorted(replacements, key=lambda replacement: (replacement.start, replacement.end))
    done = 0
    for start, end, _ in ordered:
        if start < done:
            raise ValueError("replacements overlap")
        done = end
    return ordered


def edits_both_ways(
    places: LineIndex, replacements: Sequence[Replacement]
) -> tuple[str, tuple[TextEdit, ...], tuple[TextEdit, ...]]:
    """The new text, the edits that make it, and those that undo it.

    ``places`` are those of the text as it is. Replacements must not overlap; of several at one place the order counts. Raises
    `ValueError` where they overlap.
    """
    text = places.text
    ordered = _in_order(replacements)
    pieces: list[str] = []
    done = 0
    grown = 0
    back: list[Replacement] = []
    for start, end, new in ordered:
        pieces += (text[done:start], new)
        back.append(Replacement(start + grown, start + grown + len(new), text[start:end]))
        grown += len(new) - (end - start)
        done = end
    pieces.append(text[done:])
    mutant = "".join(pieces)
    there = LineIndex(mutant)
    edits = tuple(TextEdit(places.span(replacement.start, replacement.end), replacement.new) for replacement in ordered)
    reverse = tuple(TextEdit(there.span(replacement.start, replacement.end), replacement.new) for replacement in back)
    return mutant, edits, reverse
