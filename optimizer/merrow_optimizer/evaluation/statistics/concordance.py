"""Rankings by several raters: places with ties, the points that they give, and how far the raters agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import fsum
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def places_of(groups: Sequence[Sequence[T]]) -> dict[T, float]:
    """The place of each, from 1; ``groups`` are the best first, and those that tie share the mean of their places."""
    places: dict[T, float] = {}
    before = 0
    for group in groups:
        places.update(dict.fromkeys(group, before + (len(group) + 1) / 2))
        before += len(group)
    return places


def points_of(place: float, count: int) -> float:
    """What a place among ``count`` is worth: ``count`` points for the first, 1 for the last (Flow gives 4 to 1)."""
    return count + 1 - place


def concordance(rankings: Sequence[Mapping[T, float]]) -> float | None:
    """Kendall's W of raters who ranked the same things, each by its place (`places_of`): 1 if all rank alike, 0 if they have
    nothing in common. None for fewer than two raters or things, or where every rater holds all things equal.

    W = 12 S / (m^2 (n^3 - n) - m sum(T)) for m raters and n things, where S is the sum of squared deviations of the things' sums
    of places from their mean, and T = sum(t^3 - t) over a rater's groups of t that tie (Kendall and Babington Smith 1939;
    correction for ties: Kendall 1948).
    """
    raters = len(rankings)
    things = list(rankings[0]) if rankings else []
    count = len(things)
    if raters < 2 or count < 2:
        return None
    sums = [fsum(places[thing] for places in rankings) for thing in things]
    mean = fsum(sums) / count
    deviation = fsum((value - mean) ** 2 for value in sums)
    ties = sum(size**3 - size for places in rankings for size in Counter(places.values()).values())
    most = raters**2 * (count**3 - count) - raters * ties
    return None if most <= 0 else 12 * deviation / most
