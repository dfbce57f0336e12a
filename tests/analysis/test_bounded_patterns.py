"""Regular expressions of others: found where Python finds them, in a bounded number of steps."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.bounded.allowance import Allowance, TooMuchError
from merrow_analysis.bounded.patterns import PatternError, check_pattern, compiled

PIECES = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\b", r"\B", "^", "$", r"\A", r"\Z", "", "é", "[a-cß]", "ab"]
)
PATTERNS = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda ways: f"(?:{'|'.join(ways)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,3}", "*?", "+?", "??", "{2,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
        inner.map(lambda one: f"(?i:{one})"),
        inner.map(lambda one: f"(?s:{one})"),
        PIECES.map(lambda one: f"(?<={one})"),
        PIECES.map(lambda one: f"(?<!{one})"),
    ),
    max_leaves=6,
)
FLAGS = st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?a)", "(?im)"])
TEXTS = st.text("abAB1 é\nßxK", max_size=7)


def found(pattern: str, text: str) -> bool:
    return compiled(pattern)(text, Allowance(10_000_000, "too much"))


@settings(max_examples=250, deadline=None)
@given(FLAGS, PATTERNS, TEXTS)
def test_a_pattern_is_found_where_python_finds_it(flags: str, pattern: str, text: str) -> None:
    try:
        expected = re.search(flags + pattern, text) is not None
    except re.error:
        with pytest.raises(PatternError):
            check_pattern(flags + pattern)
        return
    assert found(flags + pattern, text) is expected


@pytest.mark.parametrize("size", [60, 300_000])
@pytest.mark.parametrize(
    "pattern",
    ["^([A-Za-z]+ ?)+$", "(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*)*x", "(a?){30}a{30}$", "((a*)*)*b", r"(\w+\s?)*!$",
     "(?:a{0,50}){0,50}b", "a*a*a*a*b", "(?=a*b)a", "(?<=a)+b", "(?:(?:a{0,500}){0,500}){0,500}b", "(?!a*b)c"],
)  # fmt: skip
def test_a_search_ends(pattern: str, size: int) -> None:
    before = time.process_time()
    try:
        assert not compiled(pattern)("a" * size + "-", Allowance(4_000_000, "too much"))
    except TooMuchError:
        assert size > 60, pattern
    assert time.process_time() - before < 15  # some 0.01 s, and 0.5 s


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "refers to a group"),
        ("(?>a+)b", "gives nothing back"),
        ("(a)?(?(1)b|c)", "refers to a group"),
        ("(" * 200 + ")" * 200, "nest"),
        ("a" * 20_000, "longer than"),
        ("(?i)" + "[\\x00-\U0010ffff]" * 700, "classes of characters"),
        ("[", "unterminated"),
    ],
)
def test_what_can_not_be_searched_for_is_refused(pattern: str, why: str) -> None:
    before = time.process_time()
    with pytest.raises(PatternError, match=why):
        found(pattern, "aa")
    assert time.process_time() - before < 3
