"""A search: the next draw from the outcomes so far. It is the same in each process, whatever order outcomes arrive in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from random import Random
from typing import Protocol

from merrow_optimizer.search.candidates import START, CandidateDraft, Draw, ItemRepeat
from merrow_optimizer.search.history import History


class Strategy(Protocol):
    """Decides what is scored next. An object serves one search."""

    def choose(self, history: History, chance: Random) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """The candidate to score and on which places; None where the search has converged or nothing is left to try.

        A new candidate is added to the history. All randomness comes from ``chance``.
        """

    def block(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """The first answers of a candidate that was given to the search."""

    def crown(self, history: History) -> int:
        """The best candidate as far as is known."""

    def told(self, history: History, candidate: int) -> float:
        """What the search estimates the score of a candidate to be."""


class Search:
    """One search over workflows.

    ``items`` and ``repeats`` are those of `History`; ``evaluations`` bounds how many answers are scored in all. Draw k is made
    when the first k - ``jobs`` draws have been applied, no more and no fewer. So everything but outcomes follows from ``seed``,
    ``jobs`` and the outcomes, in whatever order these arrive.
    """

    def __init__(
        self,
        start: CandidateDraft,
        strategy: Strategy,
        *,
        items: int,
        repeats: int = 1,
        evaluations: int,
        seed: int = 0,
        jobs: int = 1,
    ) -> None:
        if jobs < 1:
            raise ValueError("a search needs a job")
        self.history = History(items, repeats, seed)
        self.history.add(start)
        self.strategy = strategy
        self.seed, self.jobs = seed, jobs
        self._evaluations = evaluations
        self._given: deque[CandidateDraft] = deque()
        self._arrived: dict[int, Sequence[float | None]] = {}
        self._exhausted = False

    @property
    def drawn(self) -> int:
        """How many answers have been asked for."""
        return sum(self.history.asked)

    @property
    def is_over(self) -> bool:
        """Whether there will be no other draw. Outcomes of earlier ones may still be to come."""
        return self._exhausted

    @property
    def is_ready(self) -> bool:
        """Whether the next draw can be made: the outcomes that it waits for are applied, and the search is not over."""
        return not self._exhausted and self._apply_until(len(self.history.draws) + 1 - self.jobs)

    @property
    def waiting(self) -> int:
        """How many workflows that were given are not scored yet."""
        return len(self._given)

    def next(self) -> Draw | None:
        """The next draw; None where outcomes have to arrive first, or the search is over."""
        history = self.history
        number = len(history.draws) + 1
        if not self.is_ready:
            return None
        chosen = None
        if self.drawn < self._evaluations:
            chosen = self._choose(number)
        if chosen is None:
            self.end()
            return None
        candidate, places = chosen
        draw = Draw(number, candidate, places[: self._evaluations - self.drawn])
        history.ask(draw)
        return draw

    def _choose(self, number: int) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        history = self.history
        while history.draws and self._given:
            draft = self._given.popleft()
            if not history.has(draft.key):
                candidate = history.add(draft)
                return candidate, self.strategy.block(history, candidate)
        chance = Random(f"{self.seed} draw {number}")  # noqa: S311 (no secret)
        return self.strategy.choose(history, chance)

    def give(self, drafts: Iterable[CandidateDraft]) -> None:
        """Score these next, the start before them, and then what the strategy chooses."""
        self._given.extend(drafts)

    def end(self) -> None:
        """Make no other draw."""
        self._exhausted = True
        self._apply_until(len(self.history.draws))

    def outcome(self, number: int, scores: Sequence[float | None]) -> None:
        """The scores of a draw by its number, one for each place; None for an answer that says nothing about the candidate.

        Raises ``ValueError`` for a draw that was not made, one whose outcome is known, and another number of scores.
        """
        history = self.history
        if not history.applied < number <= len(history.draws) or number in self._arrived:
            raise ValueError(f"draw {number} does not wait for an outcome")
        if len(scores) != len(history.draws[number - 1].places):
            raise ValueError(f"draw {number} has {len(history.draws[number - 1].places)} places")
        self._arrived[number] = scores
        if self._exhausted:
            self._apply_until(len(history.draws))

    def _apply_until(self, number: int) -> bool:
        """Apply the outcomes of the first draws, in order, up to this one; whether all of them have arrived."""
        history = self.history
        while history.applied < number and history.applied + 1 in self._arrived:
            history.applied += 1
            history.apply(history.draws[history.applied - 1], self._arrived.pop(history.applied))
        return history.applied >= number

    @property
    def crown(self) -> int:
        """The number of the best candidate so far; that of the start where nothing is known to be better."""
        return self.strategy.crown(self.history) if self.history.scored() else START

    @property
    def told(self) -> float:
        """The estimated score of the crown: what chose it never certifies it. Raises ``ValueError`` before the first score."""
        return self.strategy.told(self.history, self.crown)
