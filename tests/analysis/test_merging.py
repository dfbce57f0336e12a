"""A text that was changed in two places: what was done in one is done in the other, unless both touch the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.edits.merging import merging, nearest, without_redo
from merrow_analysis.text import apply_edits

BODY = "flowchart LR\n    PROBLEM --> A\n    A --> RETURN\n"
BASE = "one\ntwo\nthree\nfour\n"

_lines = st.lists(st.sampled_from(["a", "b", "c", "d", "", "e f"]), max_size=12)
_texts = st.builds(lambda lines, ended: "\n".join(lines) + ("\n" if ended and lines else ""), _lines, st.booleans())


def merged(base: str, mine: str, theirs: str) -> str | None:
    edits = merging(base, mine, theirs)
    return None if edits is None else apply_edits(mine, edits)


def test_what_does_not_touch_is_put_together() -> None:
    assert merged(BASE, "ONE\ntwo\nthree\nfour\n", "one\ntwo\nthree\nFOUR\nfive\n") == "ONE\ntwo\nthree\nFOUR\nfive\n"
    assert merged(BASE, "one\nnew\ntwo\nthree\nfour\n", "one\ntwo\nfour\n") == "one\nnew\ntwo\nfour\n"
    assert merged(BASE, "one\nTWO\nthree\nfour\n", "one\ntwo\nTHREE\nfour\n") == "one\nTWO\nTHREE\nfour\n"


def test_what_touches_is_not() -> None:
    assert merging(BASE, "one\nmine\nthree\nfour\n", "one\ntheirs\nthree\nfour\n") is None
    assert merging(BASE, "one\nmine\ntwo\nthree\nfour\n", "one\ntheirs\ntwo\nthree\nfour\n") is None
    assert merging(BASE, "one\nthree\nfour\n", "one\nTWO\nthree\nfour\n") is None
    assert merging("a\nb", "a\nb\nc", "a\nB") is None


def test_what_both_did_alike_is_done_once() -> None:
    assert merging(BASE, "one\nTWO\nthree\nfour\n", "one\nTWO\nthree\nfour\n") == []
    assert merged(BASE, "one\nTWO\nthree\nfour\nmine\n", "zero\none\nTWO\nthree\nfour\n") == (
        "zero\none\nTWO\nthree\nfour\nmine\n"
    )


@given(_texts, _texts)
def test_where_only_one_changed_something_that_counts(base: str, other: str) -> None:
    assert merged(base, base, other) == other
    assert merging(base, other, base) == []
    assert merged(base, other, other) == other


@given(_texts, _texts, _texts)
def test_it_is_the_same_from_both_sides(base: str, mine: str, theirs: str) -> None:
    assert merged(base, mine, theirs) == merged(base, theirs, mine)


@given(_texts, st.lists(_texts, max_size=5))
def test_the_nearest_text_is_the_one_itself_where_it_is_among_them(text: str, others: list[str]) -> None:
    assert nearest(text, [*others, text, *others]) == text
    assert nearest(text, others) in [*others, text]


def test_the_nearest_text_has_the_fewest_changed_lines() -> None:
    assert nearest(BASE, ["one\n", "one\ntwo\nthree\n", "four\n"]) == "one\ntwo\nthree\n"


def test_redo_leaves_no_trace() -> None:
    for front, again in {
        "": "---\nworkflow:\n  redo: {A: 1}\n---\n",
        "---\ntitle: A\n---\n": "---\ntitle: A\nworkflow:\n  redo:\n    A: 2\n---\n",
        "---\nworkflow: true\n---\n": "---\nworkflow: {redo: {A: 1}}\n---\n",
        "---\nworkflow:\n  seed: 3\n---\n": "---\nworkflow:\n  seed: 3\n  redo: {A: 1}\n---\n",
    }.items():
        before = front + BODY
        assert without_redo(again + BODY, before) == before
        assert without_redo(before, before) == before


def test_what_else_a_revision_says_in_front_stays() -> None:
    text = f"---\nworkflow:\n  redo: {{A: 1}}\n  model: other\n---\n{BODY}"
    assert without_redo(text, BODY) == f"---\nworkflow:\n  model: other\n---\n{BODY}"
