r"""Places in a text, and edits of it.

Everywhere in ``merrow_analysis`` a position counts code points from zero: ``Position(line, column)``. The front doors
(`merrow_server`) convert to UTF-16 at the boundary and nowhere else. Lines end at ``\n``, ``\r\n`` or a lone ``\r``, as
they do for Mermaid and for the Language Server Protocol; no other character ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from operator import eq
from typing import NamedTuple, TypeVar

LARGEST_TEXT = 10_000_000
"""The longest text that the front doors take: bytes of a file, characters of an open document. A workflow of ten thousand nodes
is a tenth of it.
"""

_Part = TypeVar("_Part")
_OtherPart = TypeVar("_OtherPart")

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_ENDS_A_LINE_FOR_PYTHON_ONLY = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


Span = tuple[int, int]
"""A part of one text: from an offset up to, not including, another one, both in code points."""


class Position(NamedTuple):
    """A place between two characters; both numbers count from zero, columns in code points."""

    line: int
    column: int


class Range(NamedTuple):
    """The text from ``start`` up to, not including, ``end``."""

    start: Position
    end: Position


class TextEdit(NamedTuple):
    """Replace the text of ``range`` by ``new_text``."""

    range: Range
    new_text: str


def split_lines(text: str) -> list[str]:
    """Cut ``text`` into its lines, each with its own line ending; ``"".join`` of the answer gives ``text`` back."""
    for character in _ENDS_A_LINE_FOR_PYTHON_ONLY:  # eight searches in C cost far less than one pass of a regex
        if character in text:
            return _LINE.findall(text)
    return text.splitlines(keepends=True)


def line_content(line: str) -> str:
    """A line of `split_lines` without its line ending."""
    return line.rstrip("\r\n")


def equal_ends(
    old: Sequence[_Part], new: Sequence[_OtherPart], same: Callable[[_Part, _OtherPart], bool] = eq
) -> tuple[int, int]:
    """How many parts two sequences share at their beginning, and how many of the others at their end."""
    shared = min(len(old), len(new))
    front = 0
    while front < shared and same(old[front], new[front]):
        front += 1
    back = 0
    while back < shared - front and same(old[-1 - back], new[-1 - back]):
        back += 1
    return front, back


def line_ending(lines: Sequence[str]) -> str:
    """The line ending of a text's first line; a line feed where it has none."""
    return (lines[0][len(line_content(lines[0])) :] if lines else "") or "\n"


def with_line_ending(edit: TextEdit, ending: str) -> TextEdit:
    """``edit`` with the line endings of its new text written as ``ending``."""
    if "\n" not in edit.new_text:
        return edit
    return TextEdit(edit.range, edit.new_text.replace("\r\n", "\n").replace("\n", ending))


def edited(text: str, edits: Sequence[TextEdit]) -> str:
    """``text`` with edits whose new text has its line ending."""
    ending = line_ending(split_lines(text))
    return apply_edits(text, [with_line_ending(edit, ending) for edit in edits])


def clamped(lines: Sequence[str], position: Position) -> Position:
    """A position in the text made of ``lines``: one beyond the end of its line, or of the text, means that end."""
    if position.line >= len(lines):
        return Position(len(lines), 0)
    return Position(position.line, min(position.column, len(line_content(lines[position.line]))))


def edited_lines(lines: Sequence[str], edit: TextEdit) -> tuple[int, int, list[str]]:
    """Which lines (from, up to) of the text made of ``lines`` an edit replaces, and by what lines."""
    start, end = clamped(lines, edit.range.start), clamped(lines, edit.range.end)
    first, last = start.line, end.line + 1
    before = lines[first][: start.column] if first < len(lines) else ""
    after = lines[end.line][end.column :] if end.line < len(lines) else ""
    text = before + edit.new_text + after
    # A line without an ending takes in what follows it, and a carriage return the line feed that now does.
    if first > 0 and not lines[first - 1].endswith("\n"):
        first -= 1
        text = lines[first] + text
    while last < len(lines) and not text.endswith("\n"):
        text += lines[last]
        last += 1
    return first, min(last, len(lines)), split_lines(text)


class OverlappingEditsError(ValueError):
    """Two edits of one list touch the same text, or one ends before it starts."""


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply ``edits``, whose ranges all speak of ``text`` as it is, and return the new text.

    Insertions at one place keep the order of the list and come before a replacement that starts there. A column beyond
    the end of its line means the end of that line, a line beyond the last one the end of the text, as in the Language
    Server Protocol. Raises `OverlappingEditsError` when two ranges overlap or a range is reversed.
    """
    ordered = sorted(enumerate(edits), key=lambda pair: (pair[1].range.start, pair[1].range.end, pair[0]))
    if not ordered:
        return text
    lines = split_lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position: Position) -> int:
        if position.line >= len(lines):
            return len(text)
        return starts[position.line] + min(position.column, len(line_content(lines[position.line])))

    pieces: list[str] = []
    done = 0
    for _, edit in ordered:
        start, end = offset(edit.range.start), offset(edit.range.end)
        if start < done or end < start:
            raise OverlappingEditsError(f"edits overlap at line {edit.range.start.line + 1}")
        pieces += (text[done:start], edit.new_text)
        done = end
    pieces.append(text[done:])
    return "".join(pieces)
