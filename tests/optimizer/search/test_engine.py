"""A search follows from its seed, its jobs and the outcomes alone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.search.searching import STRATEGIES, begin, draft, run, scores

from merrow_optimizer.search.candidates import START, Draw, ItemRepeat
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.held_out import read_held_out
from merrow_optimizer.search.history import History

strategies = st.sampled_from(sorted(STRATEGIES))


def told(search: Search) -> tuple[object, ...]:
    texts = [one.text for one in search.history.drafts]
    return search.history.draws, texts, search.crown, search.told


@settings(max_examples=5, deadline=None)
@given(strategies, st.integers(0, 10_000), st.sampled_from([1, 2, 8]), st.integers(0, 10_000))
def test_the_order_in_which_outcomes_arrive_makes_no_difference(name: str, seed: int, jobs: int, order: int) -> None:
    in_order = run(begin(name, seed=seed, jobs=jobs))
    assert told(run(begin(name, seed=seed, jobs=jobs), Random(order))) == told(in_order)


@settings(max_examples=5, deadline=None)
@given(strategies, st.integers(0, 10_000), st.sampled_from([1, 8]), st.integers(0, 15), st.integers(0, 10_000))
def test_a_search_that_was_killed_continues_to_the_same_search(
    name: str, seed: int, jobs: int, after: int, order: int
) -> None:
    whole = run(begin(name, seed=seed, jobs=jobs))
    # What a journal has of the first search: some outcomes, of which a later one may be there without an earlier one.
    known = {draw.number: scores(whole, draw) for draw in whole.history.draws[:after]}
    for number in Random(order).sample(sorted(known), len(known) // 3):
        del known[number]
    again = begin(name, seed=seed, jobs=jobs)
    asked: list[int] = []
    waiting = []
    while True:
        draw = again.next()
        if draw is not None:
            waiting.append(draw)
        elif waiting:
            one = waiting.pop(0)
            if one.number not in known:
                asked.append(one.number)
            again.outcome(one.number, known.get(one.number) or scores(again, one))
        else:
            break
    assert told(again) == told(whole)
    assert asked == [draw.number for draw in whole.history.draws if draw.number not in known]


@settings(max_examples=5, deadline=None)
@given(
    strategies,
    st.integers(0, 10_000),
    st.sampled_from([1, 3, 8]),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(1, 250),
)
def test_no_answer_is_scored_twice_and_no_workflow_is_two_candidates(
    name: str, seed: int, jobs: int, items: int, repeats: int, evaluations: int
) -> None:
    search = run(begin(name, seed=seed, jobs=jobs, items=items, repeats=repeats, evaluations=evaluations))
    asked = [(draw.candidate, place) for draw in search.history.draws for place in draw.places]
    assert len(asked) == len(set(asked)) == search.drawn <= evaluations
    assert all(0 <= place.item < items and 0 <= place.repeat < repeats for _, place in asked)
    assert all(draw.places for draw in search.history.draws)
    keys = [one.key for one in search.history.drafts]
    assert len(keys) == len(set(keys))
    assert search.history.draws[0].candidate == START


@settings(max_examples=5, deadline=None)
@given(strategies, st.integers(0, 10_000), st.integers(1, 8))
def test_a_draw_waits_for_the_outcomes_that_it_depends_on(name: str, seed: int, jobs: int) -> None:
    search = begin(name, seed=seed, jobs=jobs, evaluations=2_000)
    made = []
    while (draw := search.next()) is not None:
        made.append(draw)
    assert len(made) == jobs
    for one in reversed(made[1:]):
        search.outcome(one.number, scores(search, one))
        assert search.next() is None
    search.outcome(1, scores(search, made[0]))
    following = search.next()
    assert following is not None
    assert following.number == jobs + 1


def test_what_is_given_is_scored_once_after_the_start() -> None:
    search = begin("climb", seed=1)
    search.give([draft("s"), draft("given"), draft("given"), draft("more")])
    candidates = []
    for _ in range(3):
        draw = search.next()
        assert draw is not None
        candidates.append(search.history.drafts[draw.candidate].key)
        search.outcome(draw.number, [0.0] * len(draw.places))
    assert candidates == ["s", "given", "more"]


def test_the_effect_of_an_item_is_shrunk_by_two_answers() -> None:
    history = History(2, 1, 0)
    for number, (key, places, outcome) in enumerate([("s", [0, 1], [1.0, 0.0]), ("t", [1], [1.0])]):
        draw = Draw(number + 1, history.add(draft(key)), tuple(ItemRepeat(item, 0) for item in places))
        history.ask(draw)
        history.apply(draw, outcome)
    assert history.sums == [1.0, pytest.approx(1 + 0.5 / 3)]


def test_the_held_out_items_say_on_how_many_the_crown_is_better() -> None:
    found = read_held_out([0.0, 0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0])
    assert (found.start, found.crown, found.better, found.worse) == (0.4, 0.8, 3, 1)
    assert found.difference == pytest.approx(0.4)
    assert found.p == pytest.approx(0.625)
    assert read_held_out([0.0] * 9, [1.0] * 9).is_improvement
    assert not read_held_out([1.0] * 9, [0.0] * 9).is_improvement
    assert not read_held_out([0.0] * 9, [1.0] * 9, read_before=1).is_improvement


def test_an_outcome_is_taken_once_and_whole() -> None:
    search = begin("random", seed=1)
    draw = search.next()
    assert draw is not None
    with pytest.raises(ValueError, match="20 places"):
        search.outcome(1, [1.0])
    with pytest.raises(ValueError, match="does not wait"):
        search.outcome(2, [1.0] * 20)
    search.outcome(1, [1.0] * 20)
    with pytest.raises(ValueError, match="does not wait"):
        search.outcome(1, [1.0] * 20)
