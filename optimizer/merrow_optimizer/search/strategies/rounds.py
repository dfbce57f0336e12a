"""What strategies that score whole candidates share: parents drawn by score, new children, rounds that have converged."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from merrow_optimizer.search.candidates import START, CandidateDraft
from merrow_optimizer.search.dropping import is_dropped
from merrow_optimizer.search.history import History

BLOCK = 32
"""Answers after which a child that may be dropped is looked at."""
_TRIES = 40
"""How often a child that is not a candidate yet is looked for."""


def ended(history: History) -> list[int]:
    """The candidates whose draws have all been applied, with a score, in the order of their numbers."""
    pending = {draw.candidate for draw in history.draws[history.applied :]}
    return [number for number in history.scored() if number not in pending]


def best_mean(history: History, among: list[int]) -> int:
    """The candidate with the highest mean, the earlier one of two; the start where there are none."""
    return max(among, key=lambda number: (history.mean(number), -number), default=START)


def elites(history: History, size: int) -> list[int]:
    """The start and the best others, ``size`` in all; of equal ones the later."""
    others = [number for number in ended(history) if number != START]
    others.sort(key=lambda number: (-history.mean(number), -number))
    return [START, *others[: size - 1]]


def chances(scores: list[float], alpha: float, uniform: float) -> list[float]:
    """The chance of each to be the parent: a share ``uniform`` for all alike, the rest by exp(``alpha`` * per cent of score)."""
    best = max(scores)
    weights = [math.exp(alpha * 100 * (score - best)) for score in scores]
    total = math.fsum(weights)
    return [uniform / len(scores) + (1 - uniform) * weight / total for weight in weights]


def new_child(history: History, make: Callable[[Random], CandidateDraft | None], chance: Random) -> int | None:
    """Add a child that is not a candidate yet; None where none was found."""
    for _ in range(_TRIES):
        draft = make(chance)
        if draft is not None and not history.has(draft.key):
            return history.add(draft)
    return None


def is_lost(history: History, crown: int, child: int, sure: float) -> bool:
    """Whether a child is dropped, by its answers against the crown's newest. It is asked about one that has at most one answer to
    an item.
    """
    if crown == child:
        return False
    newest = {place.item: score for place, score in sorted(history.scores[crown].items())}
    # In the order in which they were drawn: the evidence is that of a sequence.
    scores = [(place.item, score) for place, score in history.scores[child].items()]
    return is_dropped([score - newest[item] for item, score in scores if item in newest], sure)


def rounds(history: History) -> list[tuple[float, float]]:
    """The mean of each candidate over its repeats, with the standard deviation of the repeats' means, in order."""
    figures = []
    for number in ended(history):
        repeats: dict[int, list[float]] = {}
        for place, score in history.scores[number].items():
            repeats.setdefault(place.repeat, []).append(score)
        means = [math.fsum(scores) / len(scores) for scores in repeats.values()]
        mean = math.fsum(means) / len(means)
        figures.append((mean, math.sqrt(math.fsum((value - mean) ** 2 for value in means) / len(means))))
    return figures
