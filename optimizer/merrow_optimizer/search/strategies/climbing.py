"""`climb` and `random`: the base lines. Children are scored in blocks until all items are used, or until one is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from merrow_optimizer.search.candidates import START, CandidateDraft, ItemRepeat
from merrow_optimizer.search.children import Proposer
from merrow_optimizer.search.history import History
from merrow_optimizer.search.strategies.rounds import BLOCK, best_mean, ended, is_lost, new_child


@dataclass(frozen=True, slots=True)
class ClimbSettings:
    """``sure`` is the chance that a child as good as the crown is dropped before it has all items; None scores all of them."""

    sure: float | None = 0.05


class Climb:
    """The next child is one of the best candidate so far, the crown. Where repeats differ, a new crown answers all items once
    more, so that no child is compared with the scores that made it the crown.
    """

    def __init__(self, proposer: Proposer, settings: ClimbSettings | None = None) -> None:
        self._proposer = proposer
        self._settings = settings or ClimbSettings()
        self._newest = START

    def choose(self, history: History, chance: Random) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """The next block of the newest child, the crown's second answers, or another child; None where no other is found."""
        if not history.draws:
            return START, history.next_places(START, history.items)
        sure = self._settings.sure
        if sure is None or not is_lost(history, self.crown(history), self._newest, sure):
            places = self._block(history, self._newest)
            if places:
                return self._newest, places
        crown = self.crown(history)
        if sure is not None and crown != START and history.asked[crown] == history.items and history.repeats > 1:
            return crown, history.next_places(crown, history.items)
        child = new_child(history, lambda chance: self._child(history, chance), chance)
        if child is None:
            return None
        self._newest = child
        return child, self._block(history, child)

    def block(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """Every item once."""
        return history.next_places(candidate, history.left(candidate, 1))

    def crown(self, history: History) -> int:
        """The highest mean of those that have answered all items."""
        return best_mean(history, [number for number in ended(history) if history.asked[number] >= history.items])

    def told(self, history: History, candidate: int) -> float:
        """The mean of its scores, which is too high for the best of many."""
        return history.mean(candidate)

    def _child(self, history: History, chance: Random) -> CandidateDraft | None:
        crown = self.crown(history)
        return self._proposer.child(crown, history.drafts[crown], chance)

    def _block(self, history: History, number: int) -> tuple[ItemRepeat, ...]:
        whole = BLOCK if self._settings.sure is not None else history.items
        return history.next_places(number, min(whole, max(0, history.left(number, 1))))


class RandomWalk(Climb):
    """Every child is one of any candidate, all alike, and is scored on all items."""

    def __init__(self, proposer: Proposer) -> None:
        super().__init__(proposer, ClimbSettings(sure=None))

    def _child(self, history: History, chance: Random) -> CandidateDraft | None:
        number = chance.randrange(len(history.drafts))
        return self._proposer.child(number, history.drafts[number], chance)
