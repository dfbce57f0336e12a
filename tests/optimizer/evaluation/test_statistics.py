"""The statistics of evaluations beside scipy's, and by their definitions."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import scipy  # its parts are loaded by the tests that use them
from hypothesis import given
from hypothesis import strategies as st

from merrow_optimizer.evaluation.statistics.distributions import incomplete_beta, t_cdf, t_quantile
from merrow_optimizer.evaluation.statistics.intervals import (
    interval_of,
    paired_interval,
    share_interval,
    student,
    wilson,
)
from merrow_optimizer.evaluation.statistics.paired import (
    FLIPS,
    compare,
    disagreement,
    holm,
    interval_text,
    mcnemar,
    p_text,
    sign_flip,
)
from merrow_optimizer.evaluation.statistics.power import POWER, smallest_difference, smallest_drop
from merrow_optimizer.evaluation.statistics.repeats import is_flaky, pass_hat

SCORES = st.floats(0, 1, allow_nan=False)


@pytest.mark.slow
@given(st.floats(-60, 60), st.integers(1, 5_000))
def test_the_distribution_of_t_is_scipys(value: float, freedom: int) -> None:
    assert t_cdf(value, freedom) == pytest.approx(scipy.stats.t.cdf(value, freedom), rel=1e-9, abs=1e-14)


@pytest.mark.slow
@given(st.floats(0.001, 0.999), st.integers(1, 5_000))
def test_the_quantiles_of_t_are_scipys(share: float, freedom: int) -> None:
    assert t_quantile(share, freedom) == pytest.approx(scipy.stats.t.ppf(share, freedom), rel=1e-8, abs=1e-9)


# Of numbers below the least normal one, scipy's is right to two digits.
@given(st.floats(0.01, 500), st.floats(0.01, 500), st.floats(0, 1, allow_subnormal=False))
def test_the_incomplete_beta_function_is_scipys(a: float, b: float, x: float) -> None:
    expected = scipy.stats.beta.cdf(x, a, b)
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-8, abs=1e-12)


@given(st.integers(0, 3_000), st.data())
def test_wilsons_interval_is_scipys(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    found = wilson(right, n)
    if n == 0:
        assert found == (0.0, 1.0)
        return
    expected = scipy.stats.binomtest(right, n).proportion_ci(method="wilson")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.lower <= right / n <= found.upper


@given(st.lists(SCORES, min_size=1, max_size=80))
def test_students_interval_is_scipys_with_an_item_more_at_each_end(values: list[float]) -> None:
    expected = scipy.stats.ttest_1samp([*values, 0.0, 1.0], 0).confidence_interval()
    lower, upper = student(values)
    assert (lower, upper) == pytest.approx((max(0, expected.low), min(1, expected.high)), rel=1e-7, abs=1e-9)
    assert lower <= math.fsum(values) / len(values) <= upper
    less, more = student([2 * value - 1 for value in values], (-1.0, 1.0))
    assert (less, more) == pytest.approx((2 * lower - 1, 2 * upper - 1), abs=1e-9)


def test_one_answer_each_has_the_interval_of_a_share_and_all_else_students() -> None:
    assert interval_of([1, 0, 1.0]) == share_interval(2, 3)
    assert interval_of([1, 0, 1], repeats=2) == student([1, 0, 1])
    assert interval_of([1, 0.5, 1]) == student([1, 0.5, 1])


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_p_is_the_exact_binomial_one(better: int, worse: int) -> None:
    expected = scipy.stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert mcnemar(better, worse) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=9))
def test_sign_flips_agree_with_all_of_them(differences: list[float]) -> None:
    seen = math.fsum(differences)
    sums = [
        math.fsum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    p, p_worse = sign_flip(differences)
    slack = 5 * math.sqrt(0.25 / FLIPS) + 2 / FLIPS
    assert p == pytest.approx(sum(abs(one) >= abs(seen) - 1e-9 for one in sums) / len(sums), abs=slack)
    assert p_worse == pytest.approx(sum(one <= seen + 1e-9 for one in sums) / len(sums), abs=slack)
    assert sign_flip(differences) == (p, p_worse)
    assert round(p * (FLIPS + 1)) >= 1


def test_sign_flips_are_scipys_permutations() -> None:
    differences = [0.5, 0.25, -0.1, 0.7, 0.3, -0.2, 0.4, 0.6, 0.05, 0.15]
    expected = scipy.stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=10_000
    )
    assert sign_flip(differences)[0] == pytest.approx(expected.pvalue, abs=0.02)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_helps_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, corrected, strict=True))
    smallest = min(range(len(p_values)), key=p_values.__getitem__)
    assert corrected[smallest] == pytest.approx(min(1.0, len(p_values) * p_values[smallest]))
    ranked = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [corrected[place] for place in ranked] == sorted(corrected)


def test_holm_of_a_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_comparison_says_what_turned() -> None:
    before, after = [1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0]
    found = compare(before, after)
    assert (found.items, found.better, found.worse, found.test) == (8, 1, 6, "McNemar")
    assert found.difference == -5 / 8
    assert found.p == pytest.approx(scipy.stats.binomtest(1, 7).pvalue)
    assert found.p_worse == pytest.approx(scipy.stats.binomtest(6, 7, alternative="greater").pvalue)
    graded = compare([0.5, *before], [0.75, *after])
    assert (graded.test, graded.better) == ("sign-flip", 2)
    assert compare(before, after, repeats=2).test == "sign-flip"
    with pytest.raises(ValueError, match="nothing to compare"):
        compare([], [])


@pytest.mark.parametrize(("n", "drop"), [(20, 0.417), (119, 0.115), (1_000, 0.031)])
def test_the_drop_that_items_can_show(n: int, drop: float) -> None:
    assert smallest_drop(n) == pytest.approx(drop, abs=0.002)


def test_such_a_drop_is_found_as_often_as_said() -> None:
    chance, n = random.Random(7), 60
    drop, found = smallest_drop(n), 0
    for _ in range(2_000):
        drawn = [chance.random() for _ in range(n)]
        worse = sum(one < 0.06 + drop for one in drawn)
        better = sum(0.06 + drop <= one < 0.12 + drop for one in drawn)
        found += compare([1] * worse + [0] * better, [0] * worse + [1] * better).p_worse < 0.05
    assert found / 2_000 == pytest.approx(POWER, abs=0.03)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_more_items_show_smaller_differences(differences: list[float]) -> None:
    few, many = (smallest_difference(differences * times, exact=False) for times in (1, 4))
    assert 0 < many < few <= 1 or many == few == 1


@given(st.integers(1, 8), st.data())
def test_pass_hat_is_the_share_of_draws_that_are_all_right(repeats: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, repeats))
    k = data.draw(st.integers(1, repeats))
    answers = [1] * right + [0] * (repeats - right)
    draws = list(itertools.combinations(answers, k))
    assert pass_hat([(right, repeats)], k) == pytest.approx(sum(map(all, draws)) / len(draws))
    assert is_flaky(right, repeats) is (0 < right < repeats)
    assert pass_hat([(right, repeats)], repeats + 1) is None


# ---- coverage ----

TRUTHS = (0.05, 0.1, 0.5, 0.95)
SIZES = (20, 100, 300)
SMALL_SPREAD = {("paired", 100, 0.05), ("paired", 100, 0.1), ("paired", 300, 0.05)}
"""Where scores differ so little that the further item at each end makes intervals wider than they need be."""


def coverage(kind: str, n: int, p: float, rounds: int) -> float:
    """How often the interval of ``n`` items has the true mean in it, by simulation."""
    chance = random.Random(f"{kind} {n} {p}")
    hits = 0
    for _ in range(rounds):
        if kind == "repeated":
            # Items differ in how hard they are; each is answered three times.
            eases = [min(1.0, max(0.0, chance.betavariate(4 * p, 4 * (1 - p)))) for _ in range(n)]
            values = [sum(chance.random() < ease for _ in range(3)) / 3 for ease in eases]
            interval, truth = interval_of(values, repeats=3), p
        elif kind == "graded":
            interval, truth = interval_of([chance.betavariate(2 * p, 2 * (1 - p)) for _ in range(n)]), p
        else:  # paired: the second of two graded scores loses a part that differs from item to item
            before = [chance.betavariate(2 * p, 2 * (1 - p)) for _ in range(n)]
            # What `compare` takes of these; the p-value beside it takes a thousand times as long.
            interval, truth = student([one * chance.random() - one for one in before], (-1.0, 1.0)), -p / 2
        hits += interval.lower <= truth <= interval.upper
    return hits / rounds


@pytest.mark.thinned(48)
@pytest.mark.parametrize("kind", ["repeated", "graded", "paired"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("p", TRUTHS)
def test_students_interval_covers_the_truth_as_often_as_it_says(kind: str, n: int, p: float) -> None:
    found = coverage(kind, n, p, 1_000)
    assert found >= 0.93
    assert found <= 0.99 or n < 100 or (kind, n, p) in SMALL_SPREAD


def turning(n: int, better: float, worse: float) -> float:
    """How often the interval of a difference covers the truth, where these shares of all items turn: computed, not simulated."""
    turned = scipy.stats.binom(n, better + worse)
    whole = inside = 0.0
    for m in range(int(turned.ppf(1e-6)), int(turned.ppf(1 - 1e-6)) + 1):
        for k, chance in enumerate(scipy.stats.binom.pmf(range(m + 1), m, better / (better + worse))):
            if chance > 1e-9:
                lower, upper = paired_interval(k, m - k, n)
                whole += turned.pmf(m) * chance
                inside += turned.pmf(m) * chance * (lower <= better - worse <= upper)
    return float(inside / whole)


@pytest.mark.thinned(24)
@pytest.mark.parametrize("better", [0.5, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("turned", [0.01, 0.03, 0.055, 0.1, 0.2, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("n", [20, 30, 100])
def test_the_interval_of_a_difference_covers_the_truth_as_often_as_it_says(
    n: int, turned: float, better: float
) -> None:
    found = turning(n, turned * better, turned * (1 - better))
    assert found >= 0.93
    assert found <= 0.99 or n * turned < 3 or n < 100


@pytest.mark.parametrize("better", [0.5, 0.95])
@pytest.mark.parametrize("turned", [0.01, 0.015, 0.03])
def test_it_does_with_few_of_many_items_that_turn_too(turned: float, better: float) -> None:
    assert 0.93 <= turning(300, turned * better, turned * (1 - better)) <= 0.99


@given(st.integers(1, 300), st.data())
def test_the_interval_of_a_difference_is_where_scipy_finds_tangos_score_test_at_its_limit(
    n: int, data: st.DataObject
) -> None:
    better = data.draw(st.integers(0, n))
    worse = data.draw(st.integers(0, n - better))
    lower, upper = paired_interval(better, worse, n)
    assert -1 <= lower <= (better - worse) / n <= upper <= 1
    assert (lower, upper) == pytest.approx(
        tuple(-end for end in reversed(paired_interval(worse, better, n))), abs=1e-12
    )
    if not (better and worse):
        return  # as far as the interval of a share, too
    z = scipy.stats.norm.ppf(0.975)
    for end, target in ((lower, z), (upper, -z)):
        # The likeliest share of items that turn the other way, where the difference is that of this end.
        def unlikely(other: float, end: float = end) -> float:
            return -(
                scipy.special.xlogy(better, other + end)
                + scipy.special.xlogy(worse, other)
                + scipy.special.xlogy(n - better - worse, 1 - 2 * other - end)
            )

        least, most = max(0.0, -end), (1 - end) / 2
        other = scipy.optimize.minimize_scalar(
            unlikely, bounds=(least, most), method="bounded", options={"xatol": 1e-13}
        ).x
        score = (better - worse - n * end) / math.sqrt(n * (2 * other + end - end * end))
        assert score == pytest.approx(target, abs=2e-3)


def test_without_items_a_difference_may_be_anything() -> None:
    assert paired_interval(0, 0, 0) == (-1.0, 1.0)
    assert compare([0, 1], [1, 1]).interval == paired_interval(1, 0, 2)
    assert compare([0, 1, 0.5], [1, 1, 0.5]).interval == student([1, 0, 0], (-1.0, 1.0))


def covered(n: int, p: float) -> float:
    """How often the interval of a share covers the truth: computed, not simulated."""
    ends = [share_interval(k, n) for k in range(n + 1)]
    inside = [k for k, (lower, upper) in enumerate(ends) if lower <= p <= upper]
    return float(scipy.stats.binom.pmf(inside, n, p).sum())


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 22, 30, 50, 75, *SIZES[1:]])
def test_the_interval_of_a_share_covers_the_truth_as_often_as_it_says(n: int) -> None:
    found = [covered(n, p / 100) for p in range(2, 99)]
    assert min(found) >= 0.93
    assert max(found) <= 0.99 or n < 100


@given(st.integers(1, 60), st.data())
def test_the_interval_of_a_share_is_wilsons_or_the_exact_one_with_mid_p(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    lower, upper = share_interval(right, n)
    near = wilson(right, n)
    assert (lower, upper) == pytest.approx(
        (1 - share_interval(n - right, n).upper, 1 - share_interval(n - right, n).lower)
    )
    if lower < near.lower:
        law = scipy.stats.binom(n, lower)
        assert law.sf(right) + law.pmf(right) / 2 == pytest.approx(0.025)
    assert lower <= near.lower <= near.upper <= upper


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "p < 0.001"), (0.000999, "p < 0.001"), (0.001, "p = 0.001"), (1.0, "p = 1.000")]
)
def test_a_small_p_is_not_said_to_be_nothing(p: float, text: str) -> None:
    assert p_text(p) == text


def test_an_interval_says_its_method_and_where_its_test_disagrees() -> None:
    found = compare([1] * 34, [0] * 4 + [1] * 30)
    assert found.p == 0.125
    assert found.interval.upper < 0
    assert (
        interval_text(found.interval, found.test)
        == f"[{found.interval.lower:+.3f}, {found.interval.upper:+.3f}] (Tango)"
    )
    assert "leaves out 0" in str(disagreement(found.interval, found.p))
    agrees = compare([1] * 34, [0] * 8 + [1] * 26)
    assert agrees.p < 0.05
    assert disagreement(agrees.interval, agrees.p) is None
    assert disagreement((-0.1, 0.2), 0.04) is not None
    assert disagreement((-0.1, 0.2), 0.5) is None
    assert interval_text((-0.1, 0.2), compare([0.5], [0.25]).test).endswith("(Student)")
