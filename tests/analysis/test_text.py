"""Lines and edits: only line feed, carriage return and both together end a line, and edits do what their ranges say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.text import (
    OverlappingEditsError,
    Position,
    Range,
    TextEdit,
    apply_edits,
    line_content,
    split_lines,
)

texts = st.text(alphabet=st.sampled_from("ab\t é😀\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\x00"), max_size=40)


def edit(start: tuple[int, int], end: tuple[int, int], new_text: str) -> TextEdit:
    return TextEdit(Range(Position(*start), Position(*end)), new_text)


@given(texts)
def test_lines_join_to_the_text_and_end_where_the_protocol_says(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [line_content(line) for line in lines] == _parts(text)
    assert all(re.fullmatch(r"[^\r\n]*(\r\n|\n|\r)?", line) for line in lines)
    assert all(line[-1] in "\r\n" for line in lines[:-1])


def _parts(text: str) -> list[str]:
    parts = re.split(r"\r\n|\r|\n", text)
    return parts[:-1] if parts[-1] == "" else parts


@given(st.data(), texts)
def test_edits_equal_cutting_the_text_by_hand(data: st.DataObject, text: str) -> None:
    places = _places(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(places) - 1), min_size=2, max_size=8)))
    cuts = cuts[: len(cuts) // 2 * 2]
    edits, expected, done = [], "", 0
    for low, high in zip(cuts[::2], cuts[1::2], strict=True):
        new_text = data.draw(texts)
        edits.append(TextEdit(Range(places[low][1], places[high][1]), new_text))
        expected += text[done : places[low][0]] + new_text
        done = places[high][0]
    assert apply_edits(text, edits) == expected + text[done:]


def _places(text: str) -> list[tuple[int, Position]]:
    """Every offset that is a place: between the two characters of a CRLF there is none."""
    places, offset = [], 0
    lines = split_lines(text)
    for number, line in enumerate(lines):
        places += [(offset + column, Position(number, column)) for column in range(len(line_content(line)) + 1)]
        offset += len(line)
    if not lines or lines[-1][-1] in "\r\n":
        places.append((offset, Position(len(lines), 0)))
    return places


def test_insertions_at_one_place_keep_their_order_and_precede_a_replacement_there() -> None:
    edits = [edit((0, 1), (0, 2), "X"), edit((0, 1), (0, 1), "1"), edit((0, 1), (0, 1), "2")]
    assert apply_edits("abc", edits) == "a12Xc"


@pytest.mark.parametrize(
    "edits",
    [
        [edit((0, 0), (0, 2), "x"), edit((0, 1), (0, 3), "y")],
        [edit((0, 2), (0, 1), "x")],
        [edit((0, 0), (0, 3), "x"), edit((0, 1), (0, 1), "y")],
    ],
)
def test_overlapping_or_reversed_edits_are_refused(edits: list[TextEdit]) -> None:
    with pytest.raises(OverlappingEditsError, match="line 1"):
        apply_edits("abcd", edits)
