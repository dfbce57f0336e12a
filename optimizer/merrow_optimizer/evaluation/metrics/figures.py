"""Metrics on numbers: the solve rate of GSM8K as published, and one for data of one's own."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.amounts import Amount, amount_of, equal, last_amount
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, right, text_of, wrong
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.values import as_text

_PUBLISHED = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
_TOLERANCE = Decimal("1e-6")
_LONGEST = 1_000


class Gsm8k(BaseMetric):
    """The last number of the output and the last one of the gold differ by at most 1e-6, as published."""

    name = "gsm8k"

    def fault(self, item: Item) -> str | None:
        return None if _last(text_of(item.gold)) else "the gold answer has no number"

    async def score(self, item: Item, output: Any) -> Score:
        gold, read = _last(text_of(item.gold)), _last(text_of(output))
        if read is None:
            return wrong("", "the output has no number")
        if gold is not None and _close(gold, read):
            return right(read, f"equal to {gold}")
        return wrong(read, f"not {gold}")


def _last(text: str) -> str | None:
    last = None
    for match in _PUBLISHED.finditer(text):
        last = match
    return None if last is None else last[0].replace(",", "")


def _close(gold: str, read: str) -> bool:
    """Decided in decimals: binary fractions would take whole numbers above 2**53 for equal."""
    if max(len(gold), len(read)) > _LONGEST:
        return gold.lstrip("+") == read.lstrip("+")
    with localcontext() as context:
        context.prec = 2 * _LONGEST
        return abs(Decimal(gold) - Decimal(read)) <= _TOLERANCE


class Numeric(BaseMetric):
    """The last number of the output is the gold.

    ``tolerance`` is the largest difference that counts as equal. Without it, whole numbers and fractions must be equal exactly,
    and decimals to six digits.
    """

    name = "numeric"
    version = 2

    def __init__(self, tolerance: float | None = None) -> None:
        super().__init__({} if tolerance is None else {"tolerance": tolerance})
        if tolerance is not None and (isinstance(tolerance, bool) or not isinstance(tolerance, int | float)):
            raise DataError.of("The tolerance must be a number.", field="tolerance")
        if tolerance is not None and not 0 <= tolerance < float("inf"):
            raise DataError.of("The tolerance must be 0 or more.", field="tolerance")
        self._tolerance = None if tolerance is None else Fraction(repr(tolerance))

    def fault(self, item: Item) -> str | None:
        golds = golds_of(item.gold)
        if golds and all(_gold(gold) is not None for gold in golds):
            return None
        return "the gold answer isn't a number"

    async def score(self, item: Item, output: Any) -> Score:
        text = text_of(output)
        read = amount_of(text) or last_amount(text)
        if read is None:
            return wrong("", "the output has no number")
        for gold in golds_of(item.gold):
            number = _gold(gold)
            if number is not None and equal(number, read, self._tolerance):
                return right(read.text, f"equal to {number.text}")
        return wrong(read.text, f"not {' or '.join(as_text(gold) for gold in golds_of(item.gold))}")


def _gold(gold: Any) -> Amount | None:
    return None if isinstance(gold, bool | dict | list) or gold is None else amount_of(as_text(gold))
