"""The published loops: their constants, when they stop, and what they remember."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.search.searching import Words, begin, draft, run

from merrow_optimizer.search.candidates import START, CandidateDraft, Draw
from merrow_optimizer.search.children import Nothing
from merrow_optimizer.search.constants import RoundSettings, check_constants, round_settings_of, settings_of
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.experience import experience, favour
from merrow_optimizer.search.history import History
from merrow_optimizer.search.stopping import Convergence
from merrow_optimizer.search.strategies.climbing import Climb, ClimbSettings
from merrow_optimizer.search.strategies.evolve import Evolve, EvolveSettings, Mcts
from merrow_optimizer.search.strategies.rounds import chances, elites, is_lost
from merrow_runtime.errors import UsageFailure


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        ([0.50, 0.60], [0.233, 0.767]),
        ([0.86, 0.87, 0.90, 0.91], [0.173, 0.194, 0.292, 0.341]),
        ([0.7, 0.7, 0.7], [1 / 3] * 3),
    ],
)
def test_parents_are_drawn_as_published(scores: list[float], wanted: list[float]) -> None:
    assert chances(scores, 0.2, 0.3) == pytest.approx(wanted, abs=5e-4)


def rounds_of(means: list[float], parents: dict[int, tuple[int, ...]] | None = None) -> History:
    """Candidates of 10,000 items with these means, to four digits."""
    history = History(10_000, 1, 0)
    for number, mean in enumerate(means):
        history.add(draft(f"c{number}", (parents or {}).get(number, ()), "add", f"change {number}"))
        draw = Draw(number + 1, number, history.next_places(number, 10_000))
        history.ask(draw)
        history.apply(draw, [mean] * 10_000)
        history.applied += 1
    return history


def test_the_elites_are_the_start_and_the_best_of_equal_ones_the_later() -> None:
    assert elites(rounds_of([0.1, 0.5, 0.7, 0.5, 0.2]), 3) == [START, 2, 3]


def test_of_equal_ones_the_earlier_is_the_best() -> None:
    history = rounds_of([0.1, 0.7, 0.7, 0.2])
    assert Evolve(Words()).crown(history) == Climb(Words()).crown(history) == 1


@pytest.mark.parametrize(("newest", "lost"), [(1.0, True), (0.0, False)])
def test_a_child_is_compared_with_the_newest_answers_of_the_best(newest: float, lost: bool) -> None:
    history = History(40, 2, 0)
    for number, (one, said) in enumerate([(START, 1 - newest), (START, newest), (1, 0.0)], 1):
        if one == len(history.drafts):
            history.add(draft(f"c{one}"))
        draw = Draw(number, one, history.next_places(one, 40))
        history.ask(draw)
        history.apply(draw, [said] * 40)
    assert is_lost(history, START, 1, 0.05) is lost


def test_the_published_experience_of_alfworld_is_reproduced() -> None:
    """Numbers from 0 here, rounds from 1 there."""
    scores = [0.2121, 0.3030, 0.2424, 0.1515, 0.1515, 0.0909, 0.3333, 0.1212, 0.2121, 0.1515]
    fathers = {1: (0,), 2: (0,), 3: (2,), 4: (1,), 5: (0,), 6: (1,), 7: (6,), 8: (6,), 9: (6,)}
    families = experience(rounds_of(scores, fathers))
    told = {
        parent + 1: ({child + 1 for child in one.success}, {child + 1 for child in one.failure})
        for parent, one in families.items()
    }
    assert told == {1: ({2, 3}, {6}), 2: ({7}, {5}), 3: (set(), {4}), 7: (set(), {8, 9, 10})}
    assert families[1].success[6] == ("change 6", pytest.approx(0.3333))


def test_a_child_of_two_parents_is_credited_to_both() -> None:
    families = experience(rounds_of([0.5, 0.4, 0.45], {1: (0,), 2: (0, 1)}))
    assert set(families[0].failure) == {1, 2}
    assert set(families[1].success) == {2}


def test_what_helped_on_the_way_is_favoured_and_nothing_is_ruled_out() -> None:
    history = rounds_of([0.4, 0.5, 0.6, 0.3], {1: (0,), 2: (1,), 3: (0,)})
    assert favour(history, 2, ["add", "remove"]) == {"add": 3 / 5, "remove": 1 / 2}


def test_the_published_convergence() -> None:
    equal = [(0.5, 0.0)] * 9
    assert Convergence(z=0).reached(equal[:6])
    assert not Convergence(z=0).reached(equal[:5])
    rising = [(0.1 * number, 0.0) for number in range(9)]
    assert not Convergence(z=0).reached(rising)
    assert not Convergence(z=1).reached(rising)
    assert Convergence(z=1).reached([(0.5 + 0.001 * number, 0.02) for number in range(9)])
    assert not Convergence(z=0).reached([(0.5 + 0.001 * number, 0.02) for number in range(9)])
    assert not Convergence().reached([])
    # Fewer rounds than are compared say nothing yet.
    assert Convergence(top=8, z=0, rounds=2).reached(equal)
    assert not Convergence(top=9, z=0, rounds=2).reached(equal)


def test_each_round_scores_a_new_child_five_times_on_all_items() -> None:
    search = begin("random", seed=3, items=7, repeats=5, evaluations=7 * 5 * 8)
    search.strategy = Evolve(Words(), EvolveSettings(most=None, convergence=None))
    run(search)
    assert [len(draw.places) for draw in search.history.draws] == [35] * 8
    assert len({draw.candidate for draw in search.history.draws}) == 8
    at_temperature_0 = begin("evolve", seed=3, items=7, repeats=1, evaluations=70)
    assert all(len(draw.places) == 7 for draw in run(at_temperature_0).history.draws)


class OneParent(Words):
    """Notes when two parents were asked for."""

    def __init__(self) -> None:
        self.crossings: list[int] = []

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        self.crossings.append(number)
        assert number != other_number
        return super().crossed(number, parent, other_number, other, chance)


@given(st.integers(0, 1_000), st.integers(1, 12))
def test_crossover_begins_at_its_round(seed: int, begins: int) -> None:
    proposer = OneParent()
    search = begin("random", seed=seed, items=2, repeats=1, evaluations=24)
    search.strategy = Evolve(
        proposer, EvolveSettings(crossover=1.0, crossover_from=begins, most=None, convergence=None)
    )
    run(search)
    two = [number for number, one in enumerate(search.history.drafts) if len(one.parents) == 2]
    # The first child has nobody but the start to be crossed with.
    assert two == list(range(max(begins - 1, 2), len(search.history.drafts)))
    assert len(search.history.drafts) == 12


def climbed(repeats: int) -> Search:
    search = begin("climb", seed=4, items=64, repeats=repeats, evaluations=3_000)
    search.strategy = Climb(Words(), ClimbSettings())
    chance = Random(5)
    while (draw := search.next()) is not None:
        assert draw.places
        # The first half of the alphabet helps, the second half ruins a workflow.
        word = search.history.drafts[draw.candidate].key[1:]
        right = 0.05 if any(letter > "m" for letter in word) else 0.5 + 0.05 * min(len(word), 8)
        search.outcome(draw.number, [float(chance.random() < right) for _ in draw.places])
    return search


def test_a_new_crown_answers_again_before_it_is_compared() -> None:
    search = climbed(repeats=2)
    again = {draw.candidate for draw in search.history.draws if any(place.repeat for place in draw.places)}
    assert again
    assert START not in again
    whole = [number for number, asked in enumerate(search.history.asked[:-1]) if asked >= 64]
    assert 1 < len(whole) < len(search.history.drafts) / 2


def test_where_an_answer_is_always_the_same_no_crown_is_asked_again() -> None:
    search = climbed(repeats=1)
    assert search.crown != START
    assert not any(place.repeat for draw in search.history.draws for place in draw.places)
    assert sum(search.history.asked) > 2_000


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_published_loop_may_drop_children_early_too(repeats: int) -> None:
    search = begin("random", seed=4, items=64, repeats=repeats + 1, evaluations=6_000)
    search.strategy = Evolve(Words(), EvolveSettings(repeats=repeats, sure=0.05, most=None, convergence=None))
    chance = Random(5)
    while (draw := search.next()) is not None:
        word = search.history.drafts[draw.candidate].key[1:]
        right = 0.05 if any(letter > "m" for letter in word) else 0.5 + 0.05 * min(len(word), 8)
        search.outcome(draw.number, [float(chance.random() < right) for _ in draw.places])
    asked = search.history.asked[1:-1]
    bad = [any(letter > "m" for letter in one.key[1:]) for one in search.history.drafts[1:-1]]
    dropped = [count < 64 * repeats for count in asked]
    assert any(dropped)
    assert sum(dropped) / len(dropped) < 0.9
    # Some of the bad ones are met before the start has shown what it can; a good one is seldom dropped.
    assert sum(one for one, is_bad in zip(dropped, bad, strict=True) if not is_bad) <= 0.2 * bad.count(False)
    assert all(count in (32, 64, 64 * repeats, 64 * (repeats + 1)) for count in asked)
    # What became the best answers once more, so that no child is compared with the scores that made it so.
    again = [number for number, count in enumerate(search.history.asked) if count == 64 * (repeats + 1)]
    assert again
    assert START not in again
    assert search.crown not in [number for number, is_out in enumerate(dropped, 1) if is_out]


def test_a_child_that_was_dropped_is_never_the_best() -> None:
    history = History(64, 1, 0)
    for number, (answers, right) in enumerate([(64, 0.5), (32, 1.0)]):
        draw = Draw(number + 1, history.add(draft(f"c{number}")), history.next_places(number, answers))
        history.ask(draw)
        history.apply(draw, [right] * answers)
        history.applied += 1
    assert Evolve(Words(), EvolveSettings(sure=0.05)).crown(history) == START
    assert Evolve(Words(), EvolveSettings()).crown(history) == 1


def test_the_constants_are_as_published_and_may_be_set() -> None:
    usual = settings_of("evolve", {}, 5, None)
    assert usual == EvolveSettings()
    assert (usual.alpha, usual.uniform, usual.sample, usual.crossover, usual.crossover_from, usual.repeats) == (
        0.2,
        0.3,
        4,
        0.1,
        5,
        5,
    )
    given = {
        "alpha": 1.5,
        "lambda": 0.5,
        "sample": 7,
        "crossover": 1,
        "crossover-from": 2,
        "top": 2,
        "z": 0.5,
        "rounds": 9,
        "max-rounds": 12,
    }
    found = settings_of("evolve", given, 3, 0.1)
    assert found == EvolveSettings(1.5, 0.5, 7, 1, 2, 3, 12, Convergence(2, 0.5, 9), 0.1)
    assert (usual.most, usual.convergence) == (20, Convergence(3, 0, 5))
    assert settings_of("mcts", {}, 5, None).crossover == 0
    assert round_settings_of("evolve", {}) == RoundSettings(4, 3, 3, 20)
    assert round_settings_of("mcts", {}) == RoundSettings(1, 3, 3, 20)
    asked = {"candidates": 2, "failures": 0, "repairs": 1, "former": 5}
    assert round_settings_of("mcts", {**asked, "alpha": 1}) == RoundSettings(2, 0, 1, 5)


@pytest.mark.parametrize(
    ("strategy", "given", "says"),
    [
        ("guided", {"alpha": 0.1}, "The strategy guided has no constant 'alpha' to set (--set)."),
        (
            "mcts",
            {"crossover": 0.1},
            "it has alpha, candidates, failures, former, lambda, max-rounds, repairs, repeats, rounds,",
        ),
        ("evolve", {"lambda": 1.01}, "--set lambda=1.01 can't be: it is a number from 0 to 1."),
        ("evolve", {"sample": 0}, "it is a whole number from 1 to"),
        ("evolve", {"repeats": 1.5}, "it is a whole number from 1 to 100."),
    ],
)
def test_a_constant_that_can_not_be_is_refused(strategy: str, given: dict[str, float], says: str) -> None:
    with pytest.raises(UsageFailure) as refused:
        check_constants(strategy, given)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("alpha", 0, 100),
        ("lambda", 0, 1),
        ("sample", 1, 1_000_000),
        ("repeats", 1, 100),
        ("crossover", 0, 1),
        ("crossover-from", 1, 1_000_000),
        ("top", 1, 1_000_000),
        ("z", 0, 1_000_000),
        ("rounds", 1, 1_000_000),
        ("max-rounds", 2, 1_000_000),
        ("candidates", 1, 16),
        ("failures", 0, 10),
        ("repairs", 0, 3),
        ("former", 0, 100),
    ],
)
def test_a_constant_has_bounds(name: str, least: float, most: float) -> None:
    for value in (least, most):
        check_constants("evolve", {name: value})
    for value in (least - 1, most + 1):
        with pytest.raises(UsageFailure):
            check_constants("evolve", {name: value})


def test_a_loop_ends_after_its_rounds_with_the_start() -> None:
    search = begin("random", seed=3, items=4, repeats=1, evaluations=1_000)
    search.strategy = Evolve(Words(), EvolveSettings(most=6, convergence=None))
    assert len(run(search).history.drafts) == 6


@given(st.integers(0, 1_000), st.sampled_from([None, 0.05]))
def test_who_makes_a_round_is_asked_for_children_of_the_parents_that_the_round_would_have_drawn(
    seed: int, sure: float | None
) -> None:
    """Parents are drawn alike, whoever makes the child; where children are raced, nothing is asked for meanwhile."""
    search = begin("random", seed=seed, items=40, repeats=2, evaluations=1_500)
    strategy = Evolve(Words(), EvolveSettings(repeats=2, crossover=0.5, most=9, convergence=None, sure=sure))
    search.strategy = strategy
    asked = 0
    while True:
        number = len(search.history.draws) + 1
        parents = strategy.parents(search.history, Random(f"{seed} draw {number}"))
        before = len(search.history.drafts)
        draw = search.next()
        if draw is None:
            break
        is_new = before > 0 and len(search.history.drafts) > before and draw.number > 1
        assert (parents is not None) is is_new
        if is_new:
            asked += 1
            assert len(search.history.drafts[draw.candidate].parents) <= 2
        search.outcome(draw.number, [float(place.item % 2) for place in draw.places])
    assert parents is None
    assert asked == len(search.history.drafts) - 1


def test_a_change_of_a_model_counts_for_the_operator_that_describes_it() -> None:
    history = rounds_of([0.4, 0.5], {1: (0,)})
    history.drafts[1] = replace(history.drafts[1], operator="model", kind="remove")
    assert favour(history, 1, ["add", "remove"]) == {"add": 1 / 2, "remove": 2 / 3}


def test_where_a_model_makes_all_candidates_and_made_none_a_loop_has_no_other_round() -> None:
    for loop in (Evolve(Nothing()), Mcts(Nothing())):
        search = begin("random", seed=3, items=4, repeats=1, evaluations=1_000)
        search.strategy = loop
        draw = search.next()
        assert draw is not None
        search.outcome(draw.number, [0.5] * len(draw.places))
        assert search.next() is None
