"""How far two raters agree on the same items: the share of equal verdicts, and Cohen's kappa, which takes chance away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from merrow_optimizer.evaluation.statistics.intervals import CONFIDENCE, Interval, share_interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """``share`` of ``items`` with equal verdicts and its interval; ``kappa`` with its own, None where chance alone gives 1."""

    items: int
    share: float
    interval: Interval
    kappa: float | None
    kappa_interval: Interval | None


def agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement | None:
    """The agreement of two raters, whose verdicts are ``pairs``; None without any.

    The interval of kappa is that of large samples: sqrt(p (1 - p) / n) / (1 - chance) is its standard error.
    """
    n = len(pairs)
    if n == 0:
        return None
    equal = sum(first == second for first, second in pairs)
    share = equal / n
    first, second = (sum(pair[place] for pair in pairs) / n for place in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    if chance >= 1:
        return Agreement(n, share, share_interval(equal, n), None, None)
    kappa = (share - chance) / (1 - chance)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(share * (1 - share) / n) / (1 - chance)
    return Agreement(
        n, share, share_interval(equal, n), kappa, Interval(max(-1.0, kappa - half), min(1.0, kappa + half))
    )
