"""A text as a list of lines, spliced by each edit."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_analysis.text import Position, Range, TextEdit, line_content, split_lines


def splice(lines: list[str], edit: TextEdit) -> None:
    """Apply ``edit`` to the text made of ``lines``. Positions beyond a line or the text mean its end."""
    start, end = _clamp(lines, edit.range.start), _clamp(lines, edit.range.end)
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
    lines[first:last] = split_lines(text)


def difference(old: Sequence[str], new: Sequence[str]) -> TextEdit | None:
    """One edit of whole lines that turns the text of lines ``old`` into that of ``new``; None where they are equal."""
    shared = min(len(old), len(new))
    front = 0
    while front < shared and old[front] == new[front]:
        front += 1
    if front == len(old) == len(new):
        return None
    back = 0
    while back < shared - front and old[-1 - back] == new[-1 - back]:
        back += 1
    place = Range(Position(front, 0), Position(len(old) - back, 0))
    return TextEdit(place, "".join(new[front : len(new) - back]))


def _clamp(lines: Sequence[str], position: Position) -> Position:
    if position.line >= len(lines):
        return Position(len(lines), 0)
    return Position(position.line, min(position.column, len(line_content(lines[position.line]))))
