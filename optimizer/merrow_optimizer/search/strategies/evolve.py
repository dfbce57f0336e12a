"""`evolve` and `mcts`: the published loops. A round scores one child of a parent drawn by score, on all items, several times."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from merrow_optimizer.search.candidates import START, CandidateDraft, ItemRepeat
from merrow_optimizer.search.children import MODEL, Proposer
from merrow_optimizer.search.experience import favour
from merrow_optimizer.search.history import History
from merrow_optimizer.search.stopping import Convergence
from merrow_optimizer.search.strategies.rounds import (
    BLOCK,
    best_mean,
    chances,
    elites,
    ended,
    is_lost,
    new_child,
    rounds,
)


@dataclass(frozen=True, slots=True)
class EvolveSettings:
    """The constants of the published loop. ``alpha`` is for each per cent of score, ``uniform`` the share of chance that all have
    alike, ``sample`` how many candidates may be the parent. From round ``crossover_from`` on, a child has two parents with the
    chance ``crossover``. There are ``most`` rounds, with the start's; None for as many as the budget pays for. ``convergence`` is
    None where rounds that converge end nothing. With ``sure`` a child answers every item for the first time in blocks, and is
    dropped as in `climbing`; without it, as published, each one answers all.
    """

    alpha: float = 0.2
    uniform: float = 0.3
    sample: int = 4
    crossover: float = 0.1
    crossover_from: int = 5
    repeats: int = 5
    most: int | None = 20
    convergence: Convergence | None = field(default_factory=Convergence)
    sure: float | None = None


class Evolve:
    """One child a round, with one parent or two. No candidate is scored twice, so no list of what must not be tried is needed."""

    def __init__(self, proposer: Proposer, settings: EvolveSettings | None = None) -> None:
        self._proposer = proposer
        self._settings = settings or EvolveSettings()
        self._newest = START

    def choose(self, history: History, chance: Random) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """The next round; None once the rounds have converged, or no other child is found."""
        number: int | None = START
        if history.draws:
            further = self._raced(history)
            if further is not None:
                return further
            if self._is_over(history):
                return None
            number = new_child(history, lambda chance: self._child(history, chance), chance)
        if number is None:
            return None
        self._newest = number
        return number, self._first(history, number)

    def parents(self, history: History, chance: Random) -> tuple[int, ...] | None:
        """The parents, one or two, of the candidate of the next round, for somebody else to make it; None where the next draw is
        not a new round.
        """
        if not history.draws or self._raced(history) is not None or self._is_over(history):
            return None
        return self._drawn(history, chance)

    def block(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """What a round begins with where a model made its candidate; others that were given answer every item."""
        if history.drafts[candidate].operator == MODEL:
            self._newest = candidate
            return self._first(history, candidate)
        return self._whole(history, candidate)

    def _is_over(self, history: History) -> bool:
        settings = self._settings
        if settings.most is not None and len(history.drafts) >= settings.most:
            return True
        return settings.convergence is not None and settings.convergence.reached(rounds(history))

    def _whole(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """Every item, as often as a round does."""
        return history.next_places(candidate, history.left(candidate, self._settings.repeats))

    def crown(self, history: History) -> int:
        """The round with the highest mean, of those that were not dropped."""
        least = 0 if self._settings.sure is None else history.items
        return best_mean(history, [number for number in ended(history) if history.asked[number] >= least])

    def told(self, history: History, candidate: int) -> float:
        """The mean of its scores, which is too high for the best of many."""
        return history.mean(candidate)

    def _first(self, history: History, number: int) -> tuple[ItemRepeat, ...]:
        """What a round begins with."""
        if self._settings.sure is None or number == START:
            return self._whole(history, number)
        return history.next_places(number, min(BLOCK, history.left(number, 1)))

    def _raced(self, history: History) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """What comes before another round where children may be dropped: more of the newest child, or the crown once more."""
        sure, newest = self._settings.sure, self._newest
        if sure is None:
            return None
        crown = self.crown(history)
        if history.left(newest, self._settings.repeats) > 0 and not is_lost(history, crown, newest, sure):
            whole = history.asked[newest] >= history.items
            return newest, self._whole(history, newest) if whole else self._first(history, newest)
        if crown != START and 0 < history.left(crown) <= history.items:
            return crown, history.next_places(crown, history.items)
        return None

    def _child(self, history: History, chance: Random) -> CandidateDraft | None:
        parent, *others = self._drawn(history, chance)
        if others:
            other = others[0]
            return self._proposer.crossed(parent, history.drafts[parent], other, history.drafts[other], chance)
        return self._changed(history, parent, chance)

    def _drawn(self, history: History, chance: Random) -> tuple[int, ...]:
        """The parent of a round, or the two that are crossed."""
        settings = self._settings
        known = elites(history, settings.sample)
        parent = self._parent(history, known, chance)
        is_late = len(history.drafts) + 1 >= settings.crossover_from
        if chance.random() < settings.crossover and is_late and len(known) > 1:
            other = self._parent(history, known, chance)
            if other == parent:
                other = chance.choice([number for number in known if number != parent])
            return parent, other
        return (parent,)

    def _changed(self, history: History, parent: int, chance: Random) -> CandidateDraft | None:
        return self._proposer.child(parent, history.drafts[parent], chance)

    def _parent(self, history: History, known: list[int], chance: Random) -> int:
        if history.counts[START] == 0:
            return START
        scores = [history.mean(number) for number in known]
        return chance.choices(known, chances(scores, self._settings.alpha, self._settings.uniform))[0]


class Mcts(Evolve):
    """Select a parent by score, expand it by the kind of change that has helped on the way to it, score the child, and credit the
    outcome to its parent. What succeeded may be done again elsewhere.
    """

    def __init__(self, proposer: Proposer, settings: EvolveSettings | None = None) -> None:
        super().__init__(proposer, settings or EvolveSettings(crossover=0.0))

    def _changed(self, history: History, parent: int, chance: Random) -> CandidateDraft | None:
        weights = favour(history, parent, self._proposer.operators)
        if not weights:  # All candidates are given by a model, and it gave none.
            return None
        operator = chance.choices(list(weights), list(weights.values()))[0]
        return self._proposer.child(parent, history.drafts[parent], chance, operator)
