"""What a search knows: its candidates, which answers were asked for, and the scores that have been applied."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from merrow_optimizer.search.candidates import CandidateDraft, Draw, ItemRepeat

_PRIOR_ANSWERS, _PRIOR_NOISE, _LEAST_NOISE = 50, 0.16, 0.01
_SHRINK = 2
"""Answers without an effect that each item begins with."""


class History:
    """The candidates of a search, by number, with their scores.

    ``items`` is how many items there are and ``repeats`` how often each may be answered by one candidate (1 where a repeat would
    give the same answer). Scores are between 0 and 1. ``sums`` and ``counts`` have for each candidate the sum and the number of
    its scores, in ``sums`` less the effects of the items: how much easier each is than others. The outcomes of the first
    ``applied`` of ``draws`` are in it.
    """

    def __init__(self, items: int, repeats: int, seed: int) -> None:
        if items < 1 or repeats < 1:
            raise ValueError("a search needs an item and a repeat")
        self.items, self.repeats, self._seed = items, repeats, seed
        self.drafts: list[CandidateDraft] = []
        self.scores: list[dict[ItemRepeat, float]] = []
        self.asked: list[int] = []
        self.sums: list[float] = []
        self.counts: list[int] = []
        self.draws: list[Draw] = []
        self.applied = 0
        self._squares: list[float] = []
        self._effects = [0.0] * items
        self._answers = [0] * items
        self._orders: list[tuple[int, ...]] = []
        self._keys: set[str] = set()

    def add(self, draft: CandidateDraft) -> int:
        """Take a workflow as a candidate; its number."""
        self.drafts.append(draft)
        self._keys.add(draft.key)
        self.scores.append({})
        self.asked.append(0)
        self.sums.append(0.0)
        self.counts.append(0)
        self._squares.append(0.0)
        number = len(self.drafts) - 1
        order = list(range(self.items))
        Random(f"{self._seed} order {number}").shuffle(order)  # noqa: S311 (no secret)
        self._orders.append(tuple(order))
        return number

    def has(self, key: str) -> bool:
        """Whether a workflow with this key is a candidate."""
        return key in self._keys

    def left(self, candidate: int, repeats: int | None = None) -> int:
        """How many answers can still be asked of a candidate."""
        return self.items * min(self.repeats, repeats or self.repeats) - self.asked[candidate]

    def next_places(self, candidate: int, count: int) -> tuple[ItemRepeat, ...]:
        """The next answers of a candidate: in an order of its own, with the next repeat when all items are used up."""
        first = self.asked[candidate]
        order = self._orders[candidate]
        places = range(first, min(first + count, self.items * self.repeats))
        return tuple(ItemRepeat(order[place % self.items], place // self.items) for place in places)

    def ask(self, draw: Draw) -> None:
        """Note that these answers are asked for."""
        self.draws.append(draw)
        self.asked[draw.candidate] += len(draw.places)

    def apply(self, draw: Draw, scores: Sequence[float | None]) -> None:
        """Take the scores of a draw, one for each place; None for an answer that says nothing about the candidate."""
        candidate = draw.candidate
        for place, score in zip(draw.places, scores, strict=True):
            if score is None:
                continue
            self.scores[candidate][place] = score
            effect = self._effects[place.item] / (self._answers[place.item] + _SHRINK)
            self.sums[candidate] += score - effect
            self.counts[candidate] += 1
            self._squares[candidate] += (score - effect) ** 2
            self._effects[place.item] += score - self.sums[candidate] / self.counts[candidate]
            self._answers[place.item] += 1

    @property
    def noise(self) -> float:
        """The variance of one score around its candidate's, pooled over all candidates."""
        residual, freedom = _PRIOR_ANSWERS * _PRIOR_NOISE, float(_PRIOR_ANSWERS)
        for total, count, squares in zip(self.sums, self.counts, self._squares, strict=True):
            if count > 1:
                residual += max(0.0, squares - total * total / count)
                freedom += count - 1
        return max(_LEAST_NOISE, residual / freedom)

    def mean(self, candidate: int) -> float:
        """The plain mean of a candidate's scores. Raises ``ValueError`` where it has none."""
        scores = self.scores[candidate]
        if not scores:
            raise ValueError(f"candidate {candidate} has no score")
        return sum(scores.values()) / len(scores)

    def scored(self, least: int = 1) -> list[int]:
        """The candidates with at least so many scores, by number."""
        return [number for number, count in enumerate(self.counts) if count >= max(1, least)]

    def is_complete(self, candidate: int) -> bool:
        """Whether everything that was asked of a candidate, and every item once, has an outcome applied."""
        return self.asked[candidate] >= self.items and not self.is_pending(candidate)

    def is_pending(self, candidate: int) -> bool:
        """Whether an outcome of a draw of this candidate has not been applied."""
        return any(draw.candidate == candidate for draw in self.draws[self.applied :])
