"""Intervals of 95 %: in which range the true score lies, judged by the items that were scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from merrow_optimizer.evaluation.statistics.distributions import t_quantile

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """The lower and the upper end."""

    lower: float
    upper: float


def wilson(right: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of a share of which ``right`` of ``n`` items were seen; from 0 to 1 where ``n`` is 0."""
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, squared = right / n, z * z
    middle = (share + squared / (2 * n)) / (1 + squared / n)
    half = z / (1 + squared / n) * math.sqrt(share * (1 - share) / n + squared / (4 * n * n))
    lower = 0.0 if right == 0 else max(0.0, middle - half)
    upper = 1.0 if right == n else min(1.0, middle + half)
    return Interval(lower, upper)


def student(
    values: Sequence[float], ends: tuple[float, float] = (0.0, 1.0), confidence: float = CONFIDENCE
) -> Interval:
    """Student's interval of the mean of ``values``, one for each item, on a scale with these ``ends`` (-1 and 1 for differences).

    One further value at each end of the scale counts as an item: where few items were seen, and all are alike, the others need
    not be.
    """
    low, high = ends
    n = len(values) + 2
    padded = [*values, low, high]
    mean = math.fsum(padded) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in padded) / (n - 1) / n)
    half = t_quantile((1 + confidence) / 2, n - 1) * spread
    return Interval(max(low, mean - half), min(high, mean + half))


def interval_of(values: Sequence[float], *, repeats: int = 1) -> Interval:
    """The interval of a score: ``values`` are the items' means over their repeats. Wilson's where every item has one answer and
    is right or wrong, else Student's.
    """
    if repeats == 1 and all(value in (0, 1) for value in values):
        return wilson(sum(map(int, values)), len(values))
    return student(values)
