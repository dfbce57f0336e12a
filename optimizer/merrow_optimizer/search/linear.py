"""What the linear model believes of all candidates: the score is a sum over features and a part of the candidate's own.

numpy is imported here alone, and this module only where a strategy needs it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from random import Random

from merrow_optimizer.search.available import numpy_is_missing
from merrow_optimizer.search.candidates import CandidateDraft
from merrow_optimizer.search.features import SIZE, PromptUse
from merrow_optimizer.search.history import History
from merrow_runtime.errors import UsageFailure

# Matrices of some hundred rows: a second thread would only wait, at the cost of as much CPU time again.
_one_thread = "OPENBLAS_NUM_THREADS" not in os.environ and os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise UsageFailure(numpy_is_missing()) from None
finally:
    if _one_thread:
        del os.environ["OPENBLAS_NUM_THREADS"]

_WEIGHT, _FIRST, _LATER, _OWN, _NOISE = 0.06, 0.12, 0.06, 0.03, 0.16
"""Standard deviations of a weight of structure, of a prompt at first nodes and at later ones, whose answer is in part that of
those before, and of a candidate's own part, at this variance of one score."""
Rows = NDArray[np.float64]
"""The features of candidates, a row each."""

_MIDDLE, _BEST = 5.5, 10.0
"""Of what a judge gives, from 1 to 10."""


class Posterior:
    """The model given a history.

    score(c) = x(c) . theta + delta(c); theta ~ N(0, W), delta ~ N(0, own^2); the mean of n scores ~ N(score, noise / n).
    x(c) are the candidate's features, its shares of prompts, one feature for each prompt that any candidate with scores has, and,
    as soon as a judge has judged any of them, what it gave (-1 to 1; 0: nothing). ``scored`` are the candidates with scores,
    ``means`` and ``deviations`` what is believed of them, in that order; ``prompts`` is the place of each prompt's feature.
    """

    def __init__(self, history: History) -> None:
        noise = history.noise
        scale = noise / _NOISE
        self._scale = math.sqrt(scale)
        self._own = _OWN * _OWN * scale
        self._is_judged = any(draft.judged is not None for draft in history.drafts)
        self.scored = history.scored()
        drafts = [history.drafts[number] for number in self.scored]
        first = SIZE + self._is_judged
        known = dict.fromkeys(use for draft in drafts for use in draft.prompts)
        self.prompts = {use: first + number for number, use in enumerate(known)}
        prior = np.full(first, _WEIGHT * _WEIGHT * scale)
        prior[0] = 1.0
        prior = np.append(prior, [self._spread_of(use) ** 2 for use in self.prompts])
        rows = self._rows_of(drafts)
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
        spread = ((rows @ covariance) * rows).sum(axis=1)
        means = fitted + self._shrink * (seen - fitted)
        variances = (1 - self._shrink) ** 2 * spread + self._shrink * self._error
        self.means: list[float] = means.tolist()
        self.deviations: list[float] = np.sqrt(variances).tolist()

    @property
    def weights(self) -> list[tuple[float, float]]:
        """What each feature adds to a score: mean and standard deviation."""
        return list(zip(self._theta.tolist(), self._spread.tolist(), strict=True))

    def _rows_of(self, drafts: Sequence[CandidateDraft]) -> Rows:
        rows = np.zeros((len(drafts), SIZE + self._is_judged + len(self.prompts)))
        for row, draft in zip(rows, drafts, strict=True):
            row[:SIZE] = draft.features
            if draft.judged is not None:
                row[SIZE] = (draft.judged - _MIDDLE) / (_BEST - _MIDDLE)
            for use, share in draft.prompts.items():
                place = self.prompts.get(use)
                if place is not None:
                    row[place] = share
        return rows

    def _spread_of(self, use: PromptUse) -> float:
        """The standard deviation of what a prompt of which nothing is known does to a score."""
        return self._scale * (_FIRST if use.is_first else _LATER)

    def draw(self, drafts: Sequence[CandidateDraft], chance: Random) -> tuple[list[float], list[float]]:
        """One draw of theta: what it says of workflows without scores, and a draw of the score of each in ``scored``."""
        normal = np.array([chance.gauss() for _ in range(len(self._theta))])
        theta = self._theta + np.linalg.solve(self._root.T, normal)
        new: list[float] = (self._rows_of(drafts) @ theta).tolist()
        strange: dict[PromptUse, float] = {}
        for place, draft in enumerate(drafts):
            for use, share in draft.prompts.items():
                if use not in self.prompts:
                    if use not in strange:
                        strange[use] = chance.gauss() * self._spread_of(use)
                    new[place] += share * strange[use]
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
