"""The metrics exact, contains and f1."""

from __future__ import annotations

import collections
import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.evaluation.scoring import differing, item, scores, values

from merrow_optimizer.evaluation.metrics import metric

Row = tuple[Any, Any, float | str, str]

EXACT: list[Row] = [
    ("Paris", "Paris", 1.0, "equal"),
    ("Paris", " Paris\n", 1.0, "space around"),
    ("Paris", "paris", 0.0, "case counts"),
    ("Paris", "Paris.", 0.0, "punctuation counts"),
    ("a\nb", "a\r\nb", 1.0, "line ends"),
    ("\u00e9", "e\u0301", 1.0, "one letter in two spellings"),
    (["Paris", "Lutetia"], "Lutetia", 1.0, "one of two golds"),
    ({"a": 1}, '{ "a": 1 }', 1.0, "JSON in a text"),
    ({"a": 1}, {"a": 1.0}, 1.0, "JSON"),
    ({"a": 1}, {"a": True}, 0.0, "true is not 1"),
    ({"a": [1, 2]}, {"a": [2, 1]}, 0.0, "another order"),
    (5, "5", 1.0, "a number in a text"),
    (5, "five", 0.0, "not JSON"),
    ({"a": 1}, "[" * 100_000, 0.0, "deep JSON"),
    (False, False, 1.0, "false"),
    (False, 0, 0.0, "0 is not false"),
    ("", "", 1.0, "an empty answer can be right"),
]


def test_exact() -> None:
    assert differing("exact", EXACT) == []


CONTAINS: list[Row] = [
    ("sorry", "We are sorry for that.", 1.0, "a word"),
    ("sorry", "Sorry!", 1.0, "case"),
    ("cat", "concatenate", 0.0, "inside a word"),
    ("cat", "the cat_food", 0.0, "an underscore joins"),
    ("cat", "a concatenated cat", 1.0, "the second place"),
    ("New York", "in new\n  york.", 1.0, "space"),
    ("C++", "I like C++.", 1.0, "signs"),
    ("3", "13", 0.0, "digits"),
    ("Stra\u00dfe", "strasse", 1.0, "case folding"),
    ("\u6771\u4eac", "\u6771\u4eac\u306b\u3044\u307e\u3059", 1.0, "a script without spaces"),
    (["refund", "sorry"], "no refund", 1.0, "one of two"),
    ("sorry", "", 0.0, "nothing"),
    (42, "it is 42", 1.0, "a number"),
    ("a", "b" * 1_000_000, 0.0, "a long text"),
    ("ab", "xab" * 300_000, 0.0, "many places inside words"),
]


def test_contains() -> None:
    assert differing("contains", CONTAINS) == []
    assert metric("contains").fault(item(" ")) is not None
    assert metric("contains").fault(item([])) is not None
    assert metric("contains").fault(item("a")) is None


@pytest.mark.parametrize(
    ("gold", "said", "read"),
    [
        ("sorry", "We are\n Sorry, Ada.", "We are Sorry, Ada."),
        ("refund", "We are Sorry, Ada.", "We are Sorry, Ada."),
        ("York", f"{'Far ' * 40}New York{' Far' * 40}", f"{'Far ' * 14}New York{' Far' * 15}"),
        ("strasse", "In der Stra\u00dfe.", "in der strasse."),
    ],
)
async def test_contains_reads_the_answer_as_it_was_written(gold: str, said: str, read: str) -> None:
    assert (await metric("contains").score(item(gold), said)).read == read


F1: list[Row] = [
    ("Chicago Bears", "the Chicago Bears!", 1.0, "articles and punctuation"),
    ("Chicago Bears", "Chicago", 2 / 3, "half of it"),
    ("Chicago", "Chicago Chicago", 2 / 3, "a word counts once"),
    ("a b", "b c", 2 / 3, "articles don't count"),
    ("yes", "no", 0.0, "nothing in common"),
    ("yes", "", 0.0, "nothing"),
    ("3", 3, 1.0, "a number"),
    ("The", "the", 1.0, "a gold without words that count is compared as it is written"),
    ("The", "A", 0.0, "a gold without words that count is compared as it is written"),
    ("yes", "yes|no", 0.0, "without a separator the bar is punctuation"),
    (["New York", "NYC"], "nyc", 1.0, "the better of two golds"),
]


def test_f1() -> None:
    assert differing("f1", F1) == []


@pytest.mark.slow
def test_f1_of_parts() -> None:
    table: list[Row] = [
        ("3|4", "4", 1.0, "one of two golds"),
        ("3|4", "5|4", 1.0, "one of two answers"),
        ("3|4", "5", 0.0, "none"),
        ("Volquin von Winterstein|", "", 1.0, "an empty gold is met by an empty answer"),
        ("x", "|" * 500_000, 0.0, "many empty parts"),
    ]
    assert differing("f1", table, separator="|") == []


def reference(gold: str, answer: str) -> float:
    """The published rule, word for word: lower case, no punctuation, no articles, the harmonic mean."""

    def tokens(text: str) -> list[str]:
        bare = "".join(char for char in text.lower() if char not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", bare).split()

    wanted, found = tokens(gold), tokens(answer)
    common = sum((collections.Counter(wanted) & collections.Counter(found)).values())
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


words = st.lists(st.sampled_from(["the", "A", "cat", "Cat,", "dog", "3", "(an)", "é", "—"]), max_size=8).map(" ".join)


@given(words | st.text(max_size=20), words | st.text(max_size=20))
def test_f1_is_the_published_one(gold: str, answer: str) -> None:
    [value] = values("f1", [(gold, answer)])
    assert isinstance(value, float)
    if reference(gold, gold):
        assert abs(value - reference(gold, answer)) < 1e-9
    assert 0 <= value <= 1
    assert values("f1", [(gold, gold)]) == [1.0]


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, min_size=1, max_size=4))
def test_f1_of_parts_is_the_best_pair(golds: list[str], answers: list[str]) -> None:
    [value] = values("f1", [("|".join(golds), "|".join(answers))], separator="|")
    assert [value] == sorted(values("f1", [(gold, answer) for gold in golds for answer in answers]))[-1:]


@given(st.text(), st.text(min_size=1))
def test_any_text_has_a_score(text: str, gold: str) -> None:
    for name in ("exact", "contains", "f1"):
        scored_by = metric(name)
        if scored_by.fault(item(gold)) is None:
            assert all(
                not isinstance(score, Exception) for score in scores(name, [(item(gold), text), (item(gold), gold)])
            )
            assert values(name, [(gold, gold)]) == [1.0]
