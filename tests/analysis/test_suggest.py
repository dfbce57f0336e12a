"""Did you mean?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.suggest import closest

OPERATORS = ["Custom", "CustomCodeGenerate", "Programmer", "ScEnsemble", "MdEnsemble", "Test", "Review", "Revise"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("custom", "Custom"),
        ("Cusotm", "Custom"),
        ("Programer", "Programmer"),
        ("ScEnsmeble", "ScEnsemble"),
        ("Tset", "Test"),
        ("Banana", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_the_nearest_word(word: str, expected: str | None) -> None:
    assert closest(word, OPERATORS) == expected


@given(st.sampled_from(OPERATORS), st.integers(0, 30), st.sampled_from("abcxyz"))
def test_one_slip_is_always_found(word: str, place: int, letter: str) -> None:
    at = place % (len(word) + 1)
    assert closest(word[:at] + letter + word[at:], [word]) == word


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=5))
def test_the_answer_is_one_of_the_candidates(word: str, candidates: list[str]) -> None:
    found = closest(word, candidates)
    assert found is None or found in candidates
