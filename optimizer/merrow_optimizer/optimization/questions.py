"""What a model is asked before a draw: to improve the best candidates, or to make the candidates of a round as published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from merrow_optimizer.search.candidates import START
from merrow_optimizer.search.constants import RoundSettings
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.experience import experience
from merrow_optimizer.search.strategies.evolve import Evolve
from merrow_optimizer.suggestions.prompt import Round, Try
from merrow_optimizer.suggestions.proposing import Parent

EVERY = 8
"""Draws from one question to the next, where a strategy has no rounds of its own."""
WANTED = 4
"""Candidates that are asked for then."""
ATTEMPTS = 3
"""How often the candidates of one round are asked for until one can be used."""
_PARENTS, _TRIES = 3, 8
"""How many workflows are shown then, with how many earlier changes."""


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """What is asked for: ``n`` candidates of ``parents``, the first of which is to be changed, with what was tried (``tries``, or
    the experience in ``round``). ``failures`` are how many of the first parent's are shown (None: all that there are).
    """

    parents: Sequence[Parent]
    n: int = WANTED
    tries: Sequence[Try] = ()
    round: Round | None = None
    failures: int | None = None


def best_question(search: Search) -> SearchQuestion:
    """To improve the best candidate, with the next ones to learn from, and the newest changes."""
    told, drafts = _told(search), search.history.drafts
    best = sorted(told, key=lambda number: (number != search.crown, -told[number], number))[:_PARENTS] or [START]
    tries = [
        Try(drafts[number].title, told[drafts[number].parents[0]], told[number])
        for number in sorted(told)
        if drafts[number].parents and drafts[number].parents[0] in told
    ]
    return SearchQuestion(
        [Parent(number, drafts[number].text, told.get(number)) for number in best], tries=tries[-_TRIES:]
    )


def round_question(search: Search, settings: RoundSettings, attempt: int = 0) -> SearchQuestion | None:
    """The candidates of the next round: of the parent that is drawn for it, with that parent's own experience, or of two parents.
    None where the next draw is not a new round. Another ``attempt`` draws again.
    """
    history, strategy = search.history, search.strategy
    assert isinstance(strategy, Evolve)  # noqa: S101 (others have no rounds)
    chance = Random(f"{search.seed} round {len(history.draws) + 1} {attempt}")  # noqa: S311 (no secret)
    numbers = strategy.parents(history, chance)
    if numbers is None:
        return None
    means = {number: round(history.mean(number), 4) for number in history.scored()}
    parents = [Parent(number, history.drafts[number].text, means.get(number)) for number in numbers]
    score, other = parents[0].score, None
    former: tuple[tuple[str, float | None], ...] = ()
    if len(parents) > 1:
        other = (parents[1].text, parents[1].score)
        best = sorted(means, key=lambda number: (-means[number], number))[: settings.former]
        former = tuple((history.drafts[number].text, means[number]) for number in best)
    family = experience(history).get(numbers[0])
    success, failure = (
        tuple(Try(title, score, round(after, 4)) for _, (title, after) in sorted(tried.items()))
        for tried in (({}, {}) if family is None else (family.success, family.failure))
    )
    asked = Round(score, success, failure, other, former)
    return SearchQuestion(parents, settings.candidates, round=asked, failures=settings.failures)


def _told(search: Search) -> dict[int, float]:
    """The estimated scores of the candidates that have any, as a model reads them."""
    history = search.history
    return {number: round(search.strategy.told(history, number), 3) for number in history.scored()}
