"""Whether two orders of the same things agree: Spearman's rank correlation with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, correlation
from typing import Any

LEAST = 3
"""Pairs below which no correlation is said; an interval needs one more."""
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's correlation of ``pairs`` pairs (None: too few, or one side is the same for all) with its 95 % interval."""

    pairs: int
    value: float | None = None
    interval: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """As programs read it."""
        return {
            "pairs": self.pairs,
            "correlation": self.value,
            "interval": None if self.interval is None else list(self.interval),
        }


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> RankCorrelation:
    """The rank correlation of pairs. The interval is Bonett and Wright's; whole agreement counts as half a step less."""
    count = len(pairs)
    if count < LEAST:
        return RankCorrelation(count)
    first, second = ranks([pair[0] for pair in pairs]), ranks([pair[1] for pair in pairs])
    if len(set(first)) < 2 or len(set(second)) < 2:
        return RankCorrelation(count)
    value = correlation(first, second)
    if count == LEAST:
        return RankCorrelation(count, value)
    most = 1 - 6 / (count * (count * count - 1))
    bounded = max(-most, min(most, value))
    half = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2) * math.sqrt((1 + bounded * bounded / 2) / (count - 3))
    middle = math.atanh(bounded)
    return RankCorrelation(count, value, (math.tanh(middle - half), math.tanh(middle + half)))


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 0; equal ones share the mean of theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values
    ]
