"""When rounds of full evaluations have converged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Convergence:
    """The mean of the ``top`` best rounds has not moved by more than ``z`` of its standard deviations, ``rounds`` times in a row.

    With ``z`` 0, as published, only an equal mean counts.
    """

    top: int = 3
    z: float = 0.0
    rounds: int = 5

    def reached(self, scores: Sequence[tuple[float, float]]) -> bool:
        """Whether the last rounds say so. ``scores`` has the mean and the standard deviation of each round, in order."""
        calm = 0
        before = self._best(scores[:1]) if scores else (0.0, 0.0)
        for count in range(2, len(scores) + 1):
            mean, deviation = self._best(scores[:count])
            calm = calm + 1 if abs(mean - before[0]) <= self.z * math.hypot(deviation, before[1]) else 0
            before = mean, deviation
        return len(scores) >= self.top + 1 and calm >= self.rounds

    def _best(self, scores: Sequence[tuple[float, float]]) -> tuple[float, float]:
        best = sorted(scores, key=lambda score: -score[0])[: self.top]
        mean = math.fsum(score for score, _ in best) / len(best)
        return mean, math.sqrt(math.fsum(deviation**2 for _, deviation in best)) / len(best)
