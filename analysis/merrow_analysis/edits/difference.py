"""The difference of two texts as edits of whole lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from merrow_analysis.text import Position, Range, TextEdit, equal_ends, split_lines

_MOST_LINES = 20_000
"""Beyond so many differing lines one edit replaces them all; comparing them would take too long."""


def line_edits(old: str, new: str) -> list[TextEdit]:
    """Edits that make ``new`` of ``old``: the lines that are equal in both are left alone."""
    before, after = split_lines(old), split_lines(new)
    front, back = equal_ends(before, after)
    old_middle, new_middle = before[front : len(before) - back], after[front : len(after) - back]
    if not old_middle and not new_middle:
        return []
    if len(old_middle) + len(new_middle) > _MOST_LINES:
        return [_edit(front, front + len(old_middle), new_middle)]
    return [
        _edit(front + first, front + last, new_middle[new_first:new_last])
        for what, first, last, new_first, new_last in SequenceMatcher(None, old_middle, new_middle).get_opcodes()
        if what != "equal"
    ]


def single_edit(old: Sequence[str], new: Sequence[str]) -> TextEdit | None:
    """One edit of whole lines that makes the text of lines ``new`` of that of ``old``; None where they are equal."""
    front, back = equal_ends(old, new)
    if front == len(old) == len(new):
        return None
    return _edit(front, len(old) - back, new[front : len(new) - back])


def _edit(first: int, last: int, lines: Sequence[str]) -> TextEdit:
    return TextEdit(Range(Position(first, 0), Position(last, 0)), "".join(lines))
