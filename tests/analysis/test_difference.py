"""The difference of two texts as edits of whole lines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.difference import line_edits
from merrow_analysis.text import apply_edits

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\n", "e\n"]), max_size=12).map("".join)


@given(LINES, LINES, st.sampled_from(["", "end", "end\n"]), st.sampled_from(["", "end", "other"]))
def test_the_edits_make_the_one_text_of_the_other(old: str, new: str, end: str, new_end: str) -> None:
    edits = line_edits(old + end, new + new_end)
    assert apply_edits(old + end, edits) == new + new_end
    assert bool(edits) == (old + end != new + new_end)
    for before, after in pairwise(edits):
        assert before.range.end < after.range.start, "between two edits stands a line that stays"


@given(st.lists(st.integers(0, 99), unique=True), st.lists(st.integers(0, 99), unique=True))
def test_of_lines_that_each_text_has_once_as_many_stay_as_can(old: list[int], new: list[int]) -> None:
    edits = line_edits("".join(f"{one}\n" for one in old), "".join(f"{one}\n" for one in new))
    gone = sum(edit.range.end.line - edit.range.start.line for edit in edits)
    longest: list[int] = [0] * (len(old) + 1)
    place = {one: n for n, one in enumerate(new)}
    for n, one in enumerate(old):
        before = [longest[m] for m in range(n) if old[m] in place and place[old[m]] < place.get(one, -1)]
        longest[n] = 1 + max(before, default=0) if one in place else 0
    assert len(old) - gone == max(longest)


def test_thousands_of_equal_lines_are_replaced_together() -> None:
    (edit,) = line_edits("a\n" * 1000 + "x\n" + "b\n" * 1000, "b\n" * 1000 + "y\n" + "a\n" * 1000)
    assert (edit.range.start.line, edit.range.end.line) == (0, 2001)
    assert len(line_edits("a\nc\n" * 90 + "x\n", "c\na\n" * 90 + "y\n")) > 1
