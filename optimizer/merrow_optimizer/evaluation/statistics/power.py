"""The difference that n items can show: the smallest true one that the test finds with probability .8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from merrow_optimizer.evaluation.statistics.distributions import binomial, fair_tail

POWER = 0.8
LEVEL = 0.05
TURNING = 0.06
"""The share of items that is assumed to turn against the difference: two runs of one workflow differ by as much."""

_MOST_EXACT = 200
"""Items up to which the exact test is computed; for more the normal distribution is close enough."""


def smallest_difference(differences: Sequence[float], *, exact: bool) -> float:
    """The smallest drop that so many items show with probability .8, where the test for a drop has p < .05; 1.0 at most.

    ``exact`` says that McNemar's test is used; otherwise the spread of the ``differences`` decides, with one more at each end.
    """
    n = len(differences)
    if exact:
        return smallest_drop(n)
    mean = math.fsum(differences) / (n + 2)
    squares = math.fsum((d - mean) ** 2 for d in (*differences, -1.0, 1.0))
    return min(1.0, _reach() * math.sqrt(squares / (n + 1) / (n + 2)))


@lru_cache(maxsize=256)
def smallest_drop(n: int) -> float:
    """The same for right and wrong answers of ``n`` items, of which `TURNING` turn the other way."""
    low, high = 0.0, 1 - TURNING
    if _power(n, high) < POWER:
        return 1.0
    while high - low > 0.0005:
        middle = (low + high) / 2
        if _power(n, middle) < POWER:
            low = middle
        else:
            high = middle
    return high


def _power(n: int, drop: float) -> float:
    """How likely McNemar's one-sided test finds a drop of this size."""
    lost, won = TURNING + drop, TURNING
    if n > _MOST_EXACT:
        spread = math.sqrt((lost + won - drop * drop) / n)
        return NormalDist().cdf(drop / spread - NormalDist().inv_cdf(1 - LEVEL))
    turned = lost + won
    return math.fsum(
        binomial(n, m, turned) * math.fsum(binomial(m, k, lost / turned) for k in range(_needed(m), m + 1))
        for m in range(n + 1)
    )


@lru_cache(maxsize=1024)
def _needed(turned: int) -> int:
    """How many of the items that turned must be lost for p < .05; one more than there are where nothing suffices."""
    return next((k for k in range(turned // 2, turned + 1) if fair_tail(turned, k) < LEVEL), turned + 1)


def _reach() -> float:
    """How many standard errors a difference must have to be found so often."""
    return NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(POWER)
