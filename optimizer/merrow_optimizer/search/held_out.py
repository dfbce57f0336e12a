"""The held-out part: the first reading of it certifies, later ones describe."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from merrow_optimizer.evaluation.statistics.paired import compare


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """The crown against the start on items that no choice was made with: mean scores, their difference with its interval.

    ``p`` is two-sided, by ``test`` (``McNemar`` or ``sign-flip``), and None where the part had been read ``read_before`` times:
    then what it said may have led here. ``showable`` is the smallest difference that so many items show with probability .8.
    ``left_out`` is how many items one of both has no score for. ``start_cost`` and ``crown_cost`` are US dollars for an item by a
    dry run, as that of candidates.
    """

    items: int
    start: float
    crown: float
    difference: float
    interval: tuple[float, float]
    better: int
    worse: int
    test: str
    p: float | None
    showable: float
    read_before: int
    left_out: int
    start_cost: float | None
    crown_cost: float | None

    @property
    def is_improvement(self) -> bool:
        """Whether the crown is better, with p below .05 in a first reading."""
        return self.p is not None and self.p < 0.05 and self.difference > 0

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it, and as it is printed."""
        return {
            "items": self.items,
            "start": self.start,
            "crown": self.crown,
            "difference": self.difference,
            "interval": list(self.interval),
            "better": self.better,
            "worse": self.worse,
            "test": self.test,
            "p": self.p,
            "showable": self.showable,
            "read_before": self.read_before,
            "left_out": self.left_out,
            "start_cost": self.start_cost,
            "crown_cost": self.crown_cost,
        }

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> HeldOutResult:
        """The inverse of `to_json`."""
        lower, upper = shown["interval"]
        return cls(**{**shown, "interval": (lower, upper)})


def read_held_out(
    start: Sequence[float],
    crown: Sequence[float],
    read_before: int = 0,
    *,
    left_out: int = 0,
    start_cost: float | None = None,
    crown_cost: float | None = None,
) -> HeldOutResult:
    """Compare the scores of the start and of the crown on the held-out items, in the same order. Raises ``ValueError`` where
    there are none.
    """
    comparison = compare(start, crown)
    return HeldOutResult(
        comparison.items,
        math.fsum(start) / len(start),
        math.fsum(crown) / len(crown),
        comparison.difference,
        (comparison.interval.lower, comparison.interval.upper),
        comparison.better,
        comparison.worse,
        comparison.test,
        None if read_before else comparison.p,
        comparison.showable,
        read_before,
        left_out,
        start_cost,
        crown_cost,
    )


def set_aside(count: int, seed: int) -> tuple[list[int], list[int]]:
    """The items by number to search with, and the third of them that is held out, where a data set has no such part."""
    numbers = list(range(count))
    Random(f"{seed} held out").shuffle(numbers)  # noqa: S311 (no secret)
    held = count // 3
    return sorted(numbers[held:]), sorted(numbers[:held])
