"""A child that is as good as the crown is rarely dropped, however often one looks."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_optimizer.search.dropping import evidence, is_dropped

RACES, ITEMS, BLOCK = 2_000, 64, 16


def dropped_share(race: str) -> float:
    """The share of races between equals in which the child is dropped at one of the looks after each block."""
    dropped = 0
    for number in range(RACES):
        chance = Random(f"{race} {number}")
        differences: list[float] = []
        for _ in range(ITEMS // BLOCK):
            differences += [difference(race, chance) for _ in range(BLOCK)]
            if is_dropped(differences, 0.05):
                dropped += 1
                break
    return dropped / RACES


def difference(race: str, chance: Random) -> float:
    easy = chance.random()
    if race == "right or wrong":
        return float(chance.random() < easy) - float(chance.random() < easy)
    if race == "nearly always different":
        return chance.choice([-1.0, 1.0])
    return min(1.0, easy * chance.random() * 2) - min(1.0, easy * chance.random() * 2)


@pytest.mark.slow
@pytest.mark.parametrize("race", ["right or wrong", "nearly always different", "shares"])
def test_equal_children_are_dropped_in_at_most_5_per_cent_of_races(race: str) -> None:
    assert 0 < dropped_share(race) <= 0.05


def test_a_child_that_is_clearly_worse_is_dropped_early() -> None:
    assert is_dropped([-1.0] * 8, 0.05)
    assert is_dropped([-0.6] * 12, 0.05)
    assert not is_dropped([-1.0] * 6, 0.05), "an e-value of 18"
    assert is_dropped([-1.0] * 7, 0.05), "one of 32"
    assert not is_dropped([1.0] * 100, 0.05)
    assert not is_dropped([], 0.05)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_evidence_is_the_mean_over_all_rates_of_losses_above_one_half(lost: int, won: int) -> None:
    steps = 2_000
    rates = ((number + 0.5) / steps / 2 + 0.5 for number in range(steps))
    mean = math.fsum((2 * p) ** lost * (2 - 2 * p) ** won for p in rates) / steps
    assert evidence([-1.0] * lost + [1.0] * won + [0.0] * 5) == pytest.approx(mean, rel=1e-2)


@given(st.lists(st.floats(-1, 1), max_size=60))
def test_the_order_of_items_does_not_change_the_evidence(differences: list[float]) -> None:
    assert evidence(differences) == pytest.approx(evidence(differences[::-1]), rel=1e-9)
    assert evidence(differences) >= 0
