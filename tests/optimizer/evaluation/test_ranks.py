"""Rank correlations: the coefficient against scipy's, and how often an interval has the true one."""

from __future__ import annotations

import math
from random import Random

import pytest
from scipy.stats import spearmanr

from merrow_optimizer.evaluation.statistics.ranks import rank_correlation


@pytest.mark.parametrize("seed", range(5))
def test_the_coefficient_is_scipys_with_ties_too(seed: int) -> None:
    chance = Random(seed)
    pairs = [(chance.randint(1, 5), chance.randint(1, 5) + seed) for _ in range(4 + 3 * seed)]
    found = rank_correlation([(float(one), float(other)) for one, other in pairs])
    assert found.value == pytest.approx(spearmanr(pairs).statistic)
    assert found.interval is not None
    assert -1 <= found.interval[0] < found.interval[1] <= 1


@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_an_interval_has_the_true_correlation_about_as_often_as_it_says(strength: float) -> None:
    true, chance, inside = 6 / math.pi * math.asin(strength / 2), Random(3), 0
    for _ in range(400):
        first = [chance.gauss() for _ in range(19)]
        second = [strength * one + math.sqrt(1 - strength**2) * chance.gauss() for one in first]
        interval = rank_correlation(list(zip(first, second, strict=True))).interval
        assert interval is not None
        inside += interval[0] <= true <= interval[1]
    assert 0.91 <= inside / 400 <= 0.99


def test_whole_agreement_of_four_proves_little_and_of_three_has_no_interval() -> None:
    four, three = (rank_correlation([(n, n) for n in range(count)]) for count in (4, 3))
    assert four.interval is not None
    assert four.interval[0] < 0
    assert (three.value, three.interval) == (pytest.approx(1), None)
    assert rank_correlation([(1, 1), (2, 2)]).value is None
    assert rank_correlation([(1, 2)] * 5).value is None
