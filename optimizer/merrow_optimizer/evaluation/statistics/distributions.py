"""Student's t and the binomial distribution, as far as intervals and tests need them."""

from __future__ import annotations

import math
from functools import lru_cache

_SMALLEST = 1e-300
_MOST_TERMS = 100_000


def t_cdf(value: float, freedom: float) -> float:
    """The probability that Student's t with ``freedom`` degrees of freedom is at most ``value``."""
    squared = value * value
    if squared < freedom:  # near the middle a tail is no difference from 1
        half = 0.5 * incomplete_beta(0.5, freedom / 2, squared / (freedom + squared))
        return 0.5 + half if value > 0 else 0.5 - half
    tail = 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + squared))
    return tail if value < 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: float) -> float:
    """The value below which Student's t lies with probability ``share``, between 0 and 1 (both excluded)."""
    if share < 0.5:
        return -t_quantile(1 - share, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < share:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if t_cdf(middle, freedom) < share:
            low = middle
        else:
            high = middle


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for positive ``a`` and ``b`` and ``x`` from 0 to 1."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):  # where the fraction converges quickly
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return result


def _nonzero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST


def binomial(n: int, k: int, share: float) -> float:
    """The probability of ``k`` successes in ``n`` trials that each succeed with probability ``share``."""
    if share <= 0:
        return float(k == 0)
    if share >= 1:
        return float(k == n)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(share) + (n - k) * math.log1p(-share))


def fair_tail(n: int, least: int) -> float:
    """The probability that of ``n`` tosses of a fair coin at least ``least`` show heads, exactly."""
    if least <= 0:
        return 1.0
    return float(sum(math.comb(n, k) for k in range(least, n + 1)) / 2**n)
