"""Searches in the simulated family of `benchmarks/search`, thinned: what is promised about what a search tells."""

from __future__ import annotations

import statistics

import pytest
from benchmarks.search.contest import Outcome, run
from benchmarks.search.tables import table
from benchmarks.search.world import Rules, World, start_workflow
from tests.optimizer.search.searching import begin
from tests.optimizer.search.searching import run as searched

from merrow_optimizer.evaluation.statistics.paired import compare
from merrow_optimizer.search.candidates import Place
from merrow_optimizer.search.children import Moves
from merrow_optimizer.search.held_out import read_held_out, set_aside
from merrow_runtime import RunOptions

RULES = Rules(items=33)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [run("33 items", RULES, name, 1000, rounds=5) for name in ("guided", "published x5")]


def test_guided_improves_on_the_start(outcomes: list[Outcome]) -> None:
    guided = outcomes[0]
    assert guided.curve[-1][2] > guided.start + 0.05
    assert guided.curve[-1][0] <= guided.budget / 2


def test_the_table_has_a_line_for_each_strategy(outcomes: list[Outcome]) -> None:
    lines = table(outcomes).splitlines()
    assert lines[0] == "Row **33 items**: 1 seeds, 825 evaluations in the published loop."
    assert [line.split(" | ")[0] for line in lines[4:]] == ["| guided", "| published x5"]


def test_what_guided_tells_is_shrunk() -> None:
    """The estimate of the crown is less too high than the plain mean of the candidate with the highest one."""

    def true(number: int) -> float:
        # Of the answers that say something: three in a hundred wrong ones don't.
        return (0.3 + 0.05 * min(len(history.drafts[number].key), 10)) / 0.97

    told, plain = [], []
    for seed in range(25):
        search = searched(begin("guided", seed=seed, items=33, repeats=1, evaluations=500))
        history = search.history
        best = max(history.scored(12), key=history.mean)
        told.append(search.told - true(search.crown))
        plain.append(history.mean(best) - true(best))
    assert abs(statistics.mean(told)) < statistics.mean(plain) - 0.01


def test_a_first_reading_of_held_out_items_is_unbiased() -> None:
    """The best of many by its search score is read on other items: the mean error is within 2 standard errors of 0."""
    world = World(Rules(items=33), 1002)
    moves = Moves(start_workflow(), RunOptions(default_model="m"))
    start = moves.start()
    assert world.truth(start) == pytest.approx(0.45, abs=0.05)
    errors = []
    for part in range(80):
        places = [Place(33 + (7 * part + number) % 600, part) for number in range(50)]
        scores = [world.answer(start, place) for place in places]
        expected = statistics.mean(float(world.chances(start)[place.item]) for place in places)
        errors.append(statistics.mean(scores) - expected)
    assert abs(statistics.mean(errors)) <= 2 * statistics.stdev(errors) / len(errors) ** 0.5


def test_only_the_first_reading_has_a_p() -> None:
    start, crown = [0.0] * 12 + [1.0] * 8, [1.0] * 18 + [0.0] * 2
    first = read_held_out(start, crown)
    assert first.p == pytest.approx(compare(start, crown).p)
    assert first.is_improvement
    later = read_held_out(start, crown, read_before=1)
    assert later.p is None
    assert not later.is_improvement
    assert later.difference == first.difference
    assert not read_held_out(crown, start).is_improvement


def test_a_third_is_set_aside_where_there_is_no_held_out_part() -> None:
    searched, held = set_aside(100, seed=3)
    assert len(held) == 33
    assert sorted(searched + held) == list(range(100))
    assert set_aside(100, seed=3) == (searched, held)
    assert set_aside(100, seed=4) != (searched, held)
