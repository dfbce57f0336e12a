"""The choice of a set: the fewest operators that cover enough, as looking at every set says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from random import Random

from merrow_optimizer.extraction.choosing import CoverCandidate, SetCover, choose

INSTANCES = 1_000


def instance(seed: int) -> tuple[list[CoverCandidate], list[list[int]], float]:
    chance = Random(seed)
    count = chance.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 12) if seed % 50 == 0 else (1, 2, 3, 4, 5, 6))
    offers = [CoverCandidate(chance.choice("abcd"), chance.randint(1, 6), chance.randint(5, 9)) for _ in range(count)]
    cases = [
        [chance.getrandbits(count) & chance.getrandbits(count) for _ in range(chance.randint(0, 4))]
        for _ in range(chance.randint(1, 12))
    ]
    return offers, cases, chance.choice((0.5, 0.8, 0.95, 1.0))


def covers(chosen: Sequence[int], case: Sequence[int]) -> bool:
    return all(any(step >> one & 1 for one in chosen) for step in case)


def by_all_sets(offers: Sequence[CoverCandidate], cases: Sequence[Sequence[int]], coverage: float) -> SetCover:
    needed = max(1, math.ceil(coverage * len(cases) - 1e-9))
    found = []
    for size in range(len(offers) + 1):
        for chosen in itertools.combinations(range(len(offers)), size):
            covered = sum(covers(chosen, case) for case in cases)
            some = [offers[one] for one in chosen]
            ties = (-sum(one.support for one in some), sum(one.tokens for one in some))
            names = sorted((offers[one].name, one) for one in chosen)
            short = 0 if covered >= needed else needed - covered
            found.append(((short, size, *ties, names), chosen, covered))
    (short, *_), chosen, covered = min(found)
    return SetCover(chosen, covered, not short, is_exact=True)


def test_it_is_that_of_looking_at_all_sets() -> None:
    for seed in range(INSTANCES):
        assert choose(*instance(seed)) == by_all_sets(*instance(seed)), seed


def test_many_candidates_are_chosen_greedily_and_none_of_them_is_superfluous() -> None:
    for seed in range(30):
        chance = Random(seed)
        count = chance.randint(19, 40)
        offers = [CoverCandidate(f"o{number}", chance.randint(1, 6), chance.randint(5, 99)) for number in range(count)]
        cases = [[sum(1 << chance.randrange(count) for _ in range(3)) for _ in range(3)] for _ in range(40)]
        found = choose(offers, cases, 0.9)
        assert not found.is_exact
        assert found.is_enough
        assert found.covered == sum(covers(found.chosen, case) for case in cases) >= 36
        for one in found.chosen:
            left = [other for other in found.chosen if other != one]
            assert sum(covers(left, case) for case in cases) < 36


def test_what_no_set_covers_leaves_the_best_one() -> None:
    offers = [CoverCandidate("a", 1, 5), CoverCandidate("b", 1, 5)]
    assert choose(offers, [[0b01], [0b01], [0]], 0.95) == SetCover((0,), 2, is_enough=False, is_exact=True)
    many = [CoverCandidate(f"o{number}", 1, 5) for number in range(30)]
    assert choose(many, [[0b1], [0b1], [0]], 0.95) == SetCover((0,), 2, is_enough=False, is_exact=False)
