"""`--max-cost-per-item`: no candidate costs more, whoever makes it, and none of which nobody knows what it costs."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest
from tests.optimizer.search.searching import draft

from merrow_optimizer.optimization.costs import Costs, Priced
from merrow_optimizer.search.candidates import CandidateDraft


class Made:
    """A proposer that makes one draft."""

    operators = ("add",)

    def child(self, *_: Any) -> CandidateDraft:
        return draft("abc")

    further = crossed = child


class Nobody(Made):
    def child(self, *_: Any) -> None:  # type: ignore[override]
        return None

    further = crossed = child  # type: ignore[assignment]


class Fixed:
    """What each draft costs."""

    def __init__(self, usd: float | None) -> None:
        self._usd = usd

    def of(self, one: CandidateDraft) -> str:
        return one.key

    def usd(self, one: str) -> float | None:
        assert one == "abc"
        return self._usd


def made(proposer: Made, usd: float | None) -> list[CandidateDraft | None]:
    priced, chance = Priced(proposer, cast(Costs, Fixed(usd)), 0.01), Random(1)
    assert priced.operators == ("add",)
    start = draft("a")
    return [priced.child(0, start, chance), priced.further(start, chance), priced.crossed(0, start, 1, start, chance)]


@pytest.mark.parametrize(("usd", "kept"), [(0.0, True), (0.01, True), (0.0101, False), (None, False)])
def test_what_costs_more_or_nobody_knows_how_much_is_no_candidate(usd: float | None, kept: bool) -> None:
    assert [one and one.key for one in made(Made(), usd)] == (["abc"] * 3 if kept else [None] * 3)


def test_where_there_is_no_other_there_is_none() -> None:
    assert made(Nobody(), 0.0) == [None] * 3
