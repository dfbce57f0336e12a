"""The held-out part: the first reading of it certifies, later ones describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from merrow_optimizer.evaluation.statistics.paired import Difference, compare


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How much better the crown is than the start, on items that no choice was made with.

    ``p`` is that of the exact paired test, and None where the part had been read before: then what it said may have led here.
    """

    difference: Difference
    read_before: int

    @property
    def p(self) -> float | None:
        """The two-sided p of a first reading."""
        return None if self.read_before else self.difference.p

    @property
    def is_improvement(self) -> bool:
        """Whether the crown is better, with p below .05 in a first reading."""
        return self.p is not None and self.p < 0.05 and self.difference.difference > 0


def read_held_out(start: Sequence[float], crown: Sequence[float], read_before: int = 0) -> HeldOut:
    """Compare the scores of the start and of the crown on the held-out items, in the same order."""
    return HeldOut(compare(start, crown), read_before)


def set_aside(count: int, seed: int) -> tuple[list[int], list[int]]:
    """The items by number to search with, and the third of them that is held out, where a data set has no such part."""
    numbers = list(range(count))
    Random(f"{seed} held out").shuffle(numbers)  # noqa: S311 (no secret)
    held = count // 3
    return sorted(numbers[held:]), sorted(numbers[:held])
