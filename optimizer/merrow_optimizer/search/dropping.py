"""When a child is no better than the crown, judged after every block without losing the promised error rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BETS = tuple(0.05 + 0.1 * step for step in range(10))
_FEW = 1e-12


def is_dropped(differences: Sequence[float], sure: float) -> bool:
    """Whether a child that is as good as the crown, or better, would be this far behind with a chance of ``sure`` at most.

    ``differences`` are the child's score less the crown's on the items that both have, in the order in which they were drawn. It
    may be asked after every block: the chance that an equal child is ever dropped stays below ``sure``, provided that what chose
    the crown is not among its scores here.
    """
    return evidence(differences) > 1 / sure


def evidence(differences: Sequence[float]) -> float:
    """An e-value against a child that is as good as the crown: its expectation is at most 1 if the child is.

    Where all differences are -1, 0 and 1, only those that differ count, with an even bet on every rate of losses above one half.
    Otherwise it is the mean over bets of the capital of a gambler on losses.
    """
    if all(abs(d) < _FEW or abs(abs(d) - 1) < _FEW for d in differences):
        lost = sum(d < -_FEW for d in differences)
        return _one_sided(lost, sum(d > _FEW for d in differences))
    capitals = (math.exp(math.fsum(math.log1p(-bet * d) for d in differences)) for bet in _BETS)
    return math.fsum(capitals) / len(_BETS)


def _one_sided(lost: int, won: int) -> float:
    """2^(m+1) B(l+1, w+1) P(Beta(l+1, w+1) > 1/2) of m = l + w pairs: the tail is a binomial one, so all of it is of integers."""
    pairs = lost + won
    tail = sum(math.comb(pairs + 1, few) for few in range(lost + 1))
    return tail / ((pairs + 1) * math.comb(pairs, lost))
