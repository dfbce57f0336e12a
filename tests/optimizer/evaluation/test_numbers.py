"""The metrics gsm8k and numeric: which number is read, and when two are equal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.evaluation.scoring import differing, item, scores, values

from merrow_optimizer.evaluation.data import DataError
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.metrics.amounts import amount_of, last_amount

Row = tuple[Any, Any, float | str, str]

GSM8K: list[Row] = [
    ("18", "She makes 9 * 2 = $18 every day.\n#### 18", 1.0, "the last number"),
    ("18", "18 dollars, not 9", 0.0, "the last number is another one"),
    ("1,450,000", "It is 1450000.", 1.0, "thousands in the gold"),
    ("1450000", "It is 1,450,000", 1.0, "thousands in the output"),
    ("5", "5.0", 1.0, "a decimal"),
    ("5", "5.0000001", 1.0, "within 1e-6"),
    ("5", "5.00001", 0.0, "not within 1e-6"),
    ("-3", "10 - 13 = -3", 1.0, "a sign"),
    ("3", "x is 5-3", 0.0, "as published, a hyphen ahead of digits is a sign"),
    ("50", "50%", 1.0, "a unit is not read"),
    ("5", "0.5e1", 0.0, "as published, an exponent is a number of its own"),
    ("5", "five", 0.0, "words are not read"),
    ("5", "", 0.0, "nothing"),
    ("5", 5, 1.0, "a number"),
    ("5", None, 0.0, "null"),
    ("5", {"answer": 5}, 1.0, "JSON"),
    ("9007199254740993", "9007199254740992", 0.0, "one apart, though equal as binary fractions"),
    ("5", "9" * 1_000_000, 0.0, "a number of a million digits"),
    ("9" * 2000, "9" * 2000, 1.0, "a gold of 2,000 digits"),
    ("5", "1,234" * 200_000 + " 5", 1.0, "a long text"),
    ("5", "٥", 1.0, "digits of another script"),
]


def test_gsm8k() -> None:
    assert differing("gsm8k", GSM8K) == []


NUMERIC: list[Row] = [
    (42, "The answer is 42.", 1.0, "a number in a text"),
    ("42", 42, 1.0, "a number for a text"),
    (0.1, "0.1", 1.0, "a decimal"),
    ("1/3", "0.3333333", 1.0, "a fraction and a decimal of seven digits"),
    ("1/3", "0.333", 0.0, "a decimal of three digits"),
    ("1/3", "2/6", 1.0, "fractions"),
    (1_000_000, "1,000,001", 0.0, "whole numbers are equal exactly"),
    (1_000_000, "1,000,000", 1.0, "thousands"),
    ("1e6", "1000000", 1.0, "an exponent"),
    (0.5, "50%", 1.0, "a percentage of 1"),
    (50, "50%", 1.0, "a percentage as a number"),
    ("50%", "0.5", 1.0, "a percentage in the gold"),
    ("50%", "50%", 1.0, "two percentages"),
    ("50%", "5000%", 0.0, "two percentages are compared as they are"),
    (2, "x = 5-3, so 2", 1.0, "the last number"),
    (3, "5-3", 1.0, "between numbers a hyphen is not a sign"),
    (-3, "\u22123", 1.0, "the minus sign"),
    (4, "3,4", 1.0, "a list: the last number"),
    (1.2, "version 1.2.3", 1.0, "what follows a number's dots is not a number"),
    (0.5, "1/2.", 1.0, "a full stop behind a fraction"),
    (0.5, ".5", 1.0, "no digit ahead of the point"),
    (5, "$5", 1.0, "currency"),
    (5, "**5**", 1.0, "emphasis"),
    (-5, "The loss is -$5.", 1.0, "currency behind a sign"),
    (3, "5-$3", 1.0, "behind a number a hyphen is no sign, whatever follows it"),
    (45, "It is 45 cm^2.", 1.0, "the power of a unit is no number"),
    (45, r"$45\text{ m}^{3}$", 1.0, "nor is one in LaTeX"),
    (16, "x^2 = 16", 1.0, "a number behind a power"),
    (1234567, "1\u202f234\u202f567", 1.0, "thin spaces between thousands"),
    (1234567, "1'234'567", 1.0, "apostrophes between thousands"),
    (12345, r"12{,}345 or 12\,345", 1.0, "thousands in LaTeX"),
    (4, "1'2345, 4", 1.0, "no thousands"),
    (3e8, r"$3 \times 10^{8}$ m/s", 1.0, "a power of ten"),
    ("0.0015", "1.5 x 10^\u22123", 1.0, "a negative power of ten"),
    (300, "3 x 10^2", 1.0, "a whole number with one"),
    (5, "1/0", 0.0, "no number"),
    ([4, 5], "5", 1.0, "one of two golds"),
    ([4, 5], "6", 0.0, "none of two golds"),
    (5, "", 0.0, "nothing"),
    (1, True, 0.0, "true is not 1"),
    (5, "1,234," * 200_000, 0.0, "a hostile list"),
    (5, "1" + ",234" * 200_000 + "5", 0.0, "a hostile number"),
    (5, "1/" * 200_000, 0.0, "hostile fractions"),
]


def test_numeric() -> None:
    assert differing("numeric", NUMERIC) == []


def test_a_tolerance_is_absolute_and_replaces_the_rule() -> None:
    assert values("numeric", [(10, "10.4"), (10, "10.6"), (10, "9.5")], tolerance=0.5) == [1.0, 0.0, 1.0]
    assert values("numeric", [("0.1", "0.1000000001"), (0.1, "0.1")], tolerance=0) == [0.0, 1.0]


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf"), "1", True])
def test_a_wrong_tolerance(tolerance: object) -> None:
    with pytest.raises(DataError, match="The tolerance must be"):
        metric("numeric", tolerance=tolerance)


def test_golds_that_are_not_numbers() -> None:
    numeric, gsm8k = metric("numeric"), metric("gsm8k")
    for gold in ("about five", "", None, True, [], [1, "x"], {"a": 1}):
        assert numeric.fault(item(gold)) == "the gold answer isn't a number", gold
    assert numeric.fault(item([1, "2.5"])) is None
    assert gsm8k.fault(item("none")) == "the gold answer has no number"
    assert gsm8k.fault(item("#### 3")) is None


@given(st.integers(), st.integers())
def test_whole_numbers_are_equal_exactly(one: int, other: int) -> None:
    grouped = f"{other:,}"
    assert values("numeric", [(one, grouped), (str(one), f"= {grouped}.")]) == [float(one == other)] * 2
    assert values("gsm8k", [(str(one), f"so {grouped}")]) == [float(one == other)]


@given(st.fractions(max_denominator=10_000), st.text(max_size=30))
def test_a_number_is_read_back_whatever_is_ahead_of_it(value: Fraction, ahead: str) -> None:
    read = last_amount(f"{ahead} is {value}")
    assert read is not None
    assert read.value == value
    whole = amount_of(str(value))
    assert whole is not None
    assert whole.value == value


@given(st.text())
def test_any_text_has_a_score(text: str) -> None:
    for name in ("gsm8k", "numeric"):
        [score] = scores(name, [(item("7"), text)])
        assert not isinstance(score, Exception)
        assert score.value in (0.0, 1.0)
