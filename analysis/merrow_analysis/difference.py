"""The difference of two texts as edits of whole lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from merrow_analysis.text import Position, Range, TextEdit, equal_ends, split_lines

_MOST_PAIRS = 250_000
"""Where more lines could be equal to one another, one edit replaces them all; comparing each with each would take too long."""

_Stretch = tuple[int, int, int, int]
"""The first line in the old text and the one after the last, and the same in the new text."""


def line_edits(old: str, new: str) -> list[TextEdit]:
    """Edits that make ``new`` of ``old``: the lines that are equal in both are left alone."""
    before, after = split_lines(old), split_lines(new)
    front, back = equal_ends(before, after)
    old_middle, new_middle = before[front : len(before) - back], after[front : len(after) - back]
    return [
        _edit(front + first, front + last, new_middle[new_first:new_last])
        for gap in _gaps(old_middle, new_middle)
        for first, last, new_first, new_last in _differing(old_middle, new_middle, gap)
    ]


def _gaps(old: Sequence[str], new: Sequence[str]) -> Iterator[_Stretch]:
    """What is between the lines that each text has once and that stand in the same order in both: as many of them as possible.

    To begin with these takes time that grows with the lines, and not with their square, however they alternate with others.
    """
    times, times_new = Counter(old), Counter(new)
    place = {line: number for number, line in enumerate(new)}
    once = [(n, place[line]) for n, line in enumerate(old) if times[line] == times_new[line] == 1]
    # For each length the chain that ends first in the new text, as its last pair and the chain before that.
    ends: list[int] = []
    chains: list[tuple[tuple[int, int], Any]] = []
    for pair in once:
        length = bisect_left(ends, pair[1])
        ends[length : length + 1] = [pair[1]]
        chains[length : length + 1] = [(pair, chains[length - 1] if length else None)]
    matched = [(len(old), len(new))]
    chain = chains[-1] if chains else None
    while chain is not None:
        pair, chain = chain
        matched.append(pair)
    matched.append((-1, -1))
    for (first, new_first), (last, new_last) in pairwise(reversed(matched)):
        if last - first > 1 or new_last - new_first > 1:
            yield first + 1, last, new_first + 1, new_last


def _differing(old: Sequence[str], new: Sequence[str], gap: _Stretch) -> Iterator[_Stretch]:
    """The stretches of a gap that differ."""
    first, last, new_first, new_last = gap
    if (last - first) * (new_last - new_first) > _MOST_PAIRS:
        yield gap
        return
    matcher = SequenceMatcher(None, old[first:last], new[new_first:new_last])
    for what, begin, end, new_begin, new_end in matcher.get_opcodes():
        if what != "equal":
            yield first + begin, first + end, new_first + new_begin, new_first + new_end


def single_edit(old: Sequence[str], new: Sequence[str]) -> TextEdit | None:
    """One edit of whole lines that makes the text of lines ``new`` of that of ``old``; None where they are equal."""
    front, back = equal_ends(old, new)
    if front == len(old) == len(new):
        return None
    return _edit(front, len(old) - back, new[front : len(new) - back])


def _edit(first: int, last: int, lines: Sequence[str]) -> TextEdit:
    return TextEdit(Range(Position(first, 0), Position(last, 0)), "".join(lines))
