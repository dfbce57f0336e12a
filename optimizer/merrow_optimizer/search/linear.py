"""What the linear model believes of all candidates: the score is a sum over features and a part of the candidate's own.

numpy is imported here alone, and this module only where a strategy needs it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random

from merrow_optimizer.search.candidates import Draft
from merrow_optimizer.search.features import SIZE, STRUCTURE
from merrow_optimizer.search.history import History
from merrow_runtime.errors import UsageFailure

# Matrices of some hundred rows: a second thread would only wait, at the cost of as much CPU time again.
_one_thread = "OPENBLAS_NUM_THREADS" not in os.environ and os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
try:
    import numpy as np
except ImportError:
    raise UsageFailure(
        "The strategy guided needs the package numpy; install it with: pip install 'merrow[optimize]'"
    ) from None
finally:
    if _one_thread:
        del os.environ["OPENBLAS_NUM_THREADS"]

_WEIGHT, _PROMPT, _OWN, _NOISE = 0.06, 0.12, 0.03, 0.16
"""Standard deviations of a weight of structure, of a prompt and of a candidate's own part, at this variance of one score."""
_MIDDLE, _BEST = 5.5, 10.0
"""Of what a judge gives, from 1 to 10."""


class Posterior:
    """The model given a history.

    score(c) = x(c) . theta + delta(c); theta ~ N(0, W), delta ~ N(0, own^2); the mean of n scores ~ N(score, noise / n).
    x(c) are the candidate's features and, as soon as a judge has judged any of them, what it gave (-1 to 1; 0: nothing).
    ``scored`` are the candidates with scores, ``means`` and ``deviations`` what is believed of them, in that order.
    """

    def __init__(self, history: History) -> None:
        noise = history.noise
        scale = noise / _NOISE
        self._own = _OWN * _OWN * scale
        self._is_judged = any(draft.judged is not None for draft in history.drafts)
        size = SIZE + self._is_judged
        prior = np.full(size, _WEIGHT * _WEIGHT * scale)
        prior[0] = 1.0
        prior[1 + STRUCTURE : SIZE] = _PROMPT * _PROMPT * scale
        self.scored = history.scored()
        rows = np.array([self._row(history.drafts[number]) for number in self.scored]).reshape(-1, size)
        counts = np.array([history.counts[number] for number in self.scored], dtype=float)
        seen = np.array([history.sums[number] for number in self.scored]) / counts
        variance = self._own + noise / counts
        precision = np.diag(1 / prior) + rows.T @ (rows / variance[:, None])
        self._root = np.linalg.cholesky(precision)
        covariance = np.linalg.inv(precision)
        self._spread = np.sqrt(np.diag(covariance))
        self._theta = covariance @ (rows.T @ (seen / variance))
        # A candidate's own part, given theta, is its residual shrunk by this.
        self._shrink = self._own / variance
        self._rows, self._seen, self._error = rows, seen, noise / counts
        fitted = rows @ self._theta
        spread = np.einsum("ij,jk,ik->i", rows, covariance, rows)
        means = fitted + self._shrink * (seen - fitted)
        variances = (1 - self._shrink) ** 2 * spread + self._shrink * self._error
        self.means: list[float] = means.tolist()
        self.deviations: list[float] = np.sqrt(variances).tolist()

    @property
    def weights(self) -> list[tuple[float, float]]:
        """What each feature adds to a score: mean and standard deviation."""
        return list(zip(self._theta.tolist(), self._spread.tolist(), strict=True))

    def _row(self, draft: Draft) -> tuple[float, ...]:
        given = 0.0 if draft.judged is None else (draft.judged - _MIDDLE) / (_BEST - _MIDDLE)
        return (*draft.features, given) if self._is_judged else draft.features

    def draw(self, drafts: Sequence[Draft], chance: Random) -> tuple[list[float], list[float]]:
        """One draw of theta: what it says of workflows without scores, and a draw of the score of each in ``scored``."""
        normal = np.array([chance.gauss() for _ in range(len(self._theta))])
        theta = self._theta + np.linalg.solve(self._root.T, normal)
        new: list[float] = (np.array([self._row(draft) for draft in drafts]).reshape(-1, len(theta)) @ theta).tolist()
        fitted = self._rows @ theta
        centre = (fitted + self._shrink * (self._seen - fitted)).tolist()
        own = np.sqrt(self._shrink * self._error).tolist()
        return new, [mean + chance.gauss() * deviation for mean, deviation in zip(centre, own, strict=True)]

    def caution(self, amount: float) -> dict[int, float]:
        """For each scored candidate its mean less ``amount`` standard deviations."""
        return {
            number: mean - amount * deviation
            for number, mean, deviation in zip(self.scored, self.means, self.deviations, strict=True)
        }

    def mean_of(self, candidate: int) -> float:
        """What is believed of the score of a candidate with scores."""
        return self.means[self.scored.index(candidate)]
