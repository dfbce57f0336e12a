"""What a model that proposes is asked for: which parents, and what was tried from them."""

from __future__ import annotations

from random import Random

from tests.optimizer.search.searching import Words, begin, run

from merrow_optimizer.optimization.questions import best_question, round_question
from merrow_optimizer.search.constants import RoundSettings
from merrow_optimizer.search.strategies.evolve import Evolve, EvolveSettings


def test_the_best_is_to_be_improved_and_the_newest_changes_are_told_with_what_they_brought() -> None:
    search = run(begin("climb", seed=3, items=4, repeats=2, evaluations=60))
    question = best_question(search)
    history = search.history
    told = {number: round(search.strategy.told(history, number), 3) for number in history.scored()}
    tried = [
        (history.drafts[number].title, told[history.drafts[number].parents[0]], told[number])
        for number in sorted(told)
        if number > 0
    ]
    found = [(one.title, one.before, one.after) for one in question.tries]
    assert len(found) > 1
    assert found == tried[-len(found) :]
    assert question.parents[0].number == search.crown
    assert [parent.score for parent in question.parents] == [told[parent.number] for parent in question.parents]
    assert [parent.score for parent in question.parents[1:]] == sorted(
        (parent.score for parent in question.parents[1:]), reverse=True
    )


def test_a_round_of_two_parents_shows_the_other_one_and_former_workflows() -> None:
    settings = EvolveSettings(crossover=0.5, crossover_from=2, most=12, convergence=None)
    search = begin("random", seed=5, items=4, repeats=1, evaluations=1_000)
    search.strategy = Evolve(Words(), settings)
    kinds = set()
    while (draw := search.next()) is not None:
        search.outcome(draw.number, [Random(draw.number).random() for _ in draw.places])
        question = round_question(search, RoundSettings())
        if question is None:
            break
        kinds.add(len(question.parents))
        assert question.round is not None
        others = [(parent.text, parent.score) for parent in question.parents[1:]]
        assert question.round.other == (others[0] if others else None)
        assert bool(question.round.former) is bool(others), "the judge sees former workflows where two are recombined"
    assert kinds == {1, 2}
