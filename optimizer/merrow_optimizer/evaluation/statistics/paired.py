"""Whether two evaluations of the same items differ: exact tests on pairs, the interval of the difference, several at once."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from merrow_optimizer.evaluation.statistics.distributions import fair_tail
from merrow_optimizer.evaluation.statistics.intervals import Interval, paired_interval, student
from merrow_optimizer.evaluation.statistics.power import smallest_difference

FLIPS = 2_000
LEVEL = 0.05
"""The p below which a difference is shown."""
SEED = 42
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How much better the second of two evaluations is, on the items that both scored.

    ``p`` is two-sided, ``p_worse`` says how likely such a drop, or a larger one, is by chance alone. ``test`` is ``McNemar`` or
    ``sign-flip``; `interval_method` names the method of the interval beside it. ``showable`` is the smallest true difference that
    so many items would show with probability .8.
    """

    items: int
    difference: float
    interval: Interval
    better: int
    worse: int
    test: str
    p: float
    p_worse: float
    showable: float


def compare(before: Sequence[float], after: Sequence[float], *, repeats: int = 1, seed: int = SEED) -> PairedDifference:
    """Compare the items' means of two evaluations, in the same order of items. Raises ``ValueError`` where there are none."""
    differences = [second - first for first, second in zip(before, after, strict=True)]
    if not differences:
        raise ValueError("there is nothing to compare")
    better, worse = sum(d > _EQUAL for d in differences), sum(d < -_EQUAL for d in differences)
    if repeats == 1 and all(value in (0, 1) for value in (*before, *after)):
        test, p, p_worse = "McNemar", mcnemar(better, worse), fair_tail(better + worse, worse)
        interval = paired_interval(better, worse, len(differences))
    else:
        test, (p, p_worse) = "sign-flip", sign_flip(differences, seed)
        interval = student(differences, (-1.0, 1.0))
    mean = math.fsum(differences) / len(differences)
    return PairedDifference(
        len(differences),
        mean,
        interval,
        better,
        worse,
        test,
        p,
        p_worse,
        smallest_difference(differences, exact=test == "McNemar"),
    )


def mcnemar(better: int, worse: int) -> float:
    """The exact two-sided p of McNemar's test: of the items that turned, as many either way as by a fair coin."""
    return min(1.0, 2 * fair_tail(better + worse, max(better, worse)))


def sign_flip(differences: Sequence[float], seed: int = SEED) -> tuple[float, float]:
    """The p of a mean difference, and of a drop alone, by `FLIPS` draws of signs: (draws as extreme + 1) / (draws + 1)."""
    changed = [d for d in differences if abs(d) > _EQUAL]
    seen = math.fsum(changed)
    total = math.fsum(map(abs, changed))
    slack = _EQUAL * max(1.0, total)
    extreme = lower = 0
    chance = random.Random(seed)  # noqa: S311 (no secret)
    for _ in range(FLIPS):
        bits = chance.getrandbits(len(changed)) if changed else 0
        # The sum is that of all, less twice those whose sign is flipped.
        drawn = total - 2 * math.fsum(abs(d) for place, d in enumerate(changed) if bits >> place & 1)
        extreme += abs(drawn) >= abs(seen) - slack
        lower += drawn <= seen + slack
    return (extreme + 1) / (FLIPS + 1), (lower + 1) / (FLIPS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p of several tests made together, in the same order, corrected by Holm's method."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected


def interval_method(test: str) -> str:
    """Whose interval of a difference goes with a test: it is not the test's own, and may leave out 0 where p is above .05."""
    return "Tango" if test == "McNemar" else "Student"


def interval_text(ends: tuple[float, float], test: str) -> str:
    """The interval of a difference with its method: ``[-0.231, -0.004] (Tango)``."""
    return f"[{ends[0]:+.3f}, {ends[1]:+.3f}] ({interval_method(test)})"


def disagreement(ends: tuple[float, float], p: float) -> str | None:
    """A sentence where the interval leaves out 0 and the test shows no difference, or the other way round; None elsewhere."""
    leaves_out = ends[0] > 0 or ends[1] < 0
    if leaves_out == (p < LEVEL):
        return None
    reason = (
        "leaves out 0, but the test shows no difference"
        if leaves_out
        else "contains 0, but the test shows a difference"
    )
    return f"The interval {reason}. They are different methods; go by the test, which is exact."


def p_text(p: float, name: str = "p") -> str:
    """A p value in words: ``p = 0.012``, and ``p < 0.001`` where it rounds to nothing."""
    return f"{name} < 0.001" if p < 0.001 else f"{name} = {p:.3f}"
