"""What repeated answers to the same items show: which are flaky, and how often k answers in a row are right."""

from __future__ import annotations

import math
from collections.abc import Iterable


def is_flaky(right: int, repeats: int) -> bool:
    """Whether an item is answered right only sometimes."""
    return 0 < right < repeats


def pass_hat(counts: Iterable[tuple[int, int]], k: int) -> float | None:
    """pass^k: the probability that all of ``k`` answers to an item are right, over items with (right, repeats) counts.

    Items with fewer than ``k`` repeats are left out; None where no item is left.
    """
    shares = [math.comb(right, k) / math.comb(repeats, k) for right, repeats in counts if repeats >= k]
    return math.fsum(shares) / len(shares) if shares else None
