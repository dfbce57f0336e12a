"""Names of executions are read back as they were written, whatever characters ids have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.visit import Visit, read_segment, segment

NUMBERS = st.none() | st.integers(0, 10**6)


@given(st.text(min_size=1), st.integers(0, 99), NUMBERS, NUMBERS)
def test_a_segment_is_read_back(node: str, redo: int, sample: int | None, index: int | None) -> None:
    written = segment(node, redo, sample, index)

    assert read_segment(written) == (node, redo, sample, index)
    assert "/" not in written


@given(st.lists(st.tuples(st.text(min_size=1), st.integers(0, 9)), min_size=1, max_size=4))
def test_different_visits_have_different_names(parts: list[tuple[str, int]]) -> None:
    *frames, (node, redo) = parts
    visit = Visit(node, "/".join(segment(name, index=number) for name, number in frames), redo)

    segments = str(visit).split("/")

    assert [read_segment(text)[0] for text in segments] == [name for name, _ in parts]
    assert read_segment(segments[-1])[1] == redo


def test_the_names_that_the_design_shows() -> None:
    assert str(Visit("PART", "TRIALS[2]/PARTS[3]")) == "TRIALS[2]/PARTS[3]/PART"
    assert segment("PART", 1, 2) == "PART!1#2"


@pytest.mark.parametrize("text", ["", "a/b", "a[", "a[x]", "a!0", "a#", "[1]", "a]b", "a[1]!2"])
def test_what_is_no_segment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a part of a path"):
        read_segment(text)
