"""`gepa`: the package of that name decides, with our workflows as its candidates, our moves as its proposer and our scores.

The package runs from its beginning to its end and asks for scores on its way. Here it is run again for each draw: it meets the
scores that are known, proposes what it proposed before, and is left at the first score that it lacks, which is the next draw. So
all follows from the seed and the outcomes, as in every other strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from random import Random
from typing import Any

from merrow_optimizer.search.available import needs_package
from merrow_optimizer.search.candidates import START, CandidateDraft, ItemRepeat
from merrow_optimizer.search.children import Proposer
from merrow_optimizer.search.history import History
from merrow_optimizer.search.strategies.rounds import best_mean, ended
from merrow_runtime.errors import UsageFailure

_PART = "workflow"
"""What the package calls the only part of its candidates."""
_MINIBATCH = 3
"""Items on which the package compares a child with its parent before it scores it on all."""
_IDLE = 200
"""Times in a row that it looks at known scores alone, after which the search has converged."""


class _LacksError(BaseException):
    """The next score that is lacking; not an `Exception`, which the package would take for a failure of ours."""

    def __init__(self, draft: CandidateDraft, items: Sequence[int]) -> None:
        super().__init__()
        self.draft, self.items = draft, items


class Gepa:
    """The package's loop: a parent from its front, a child compared on three items, and scored on all where it is better."""

    def __init__(self, proposer: Proposer, seed: int) -> None:
        try:
            self._package = import_module("gepa")
        except ImportError:
            raise UsageFailure(needs_package("gepa")) from None
        self._proposer, self._seed = proposer, seed
        self._proposed: list[CandidateDraft | None] = []

    def choose(self, history: History, chance: Random) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """The next scores that the package lacks; None where it has converged."""
        run = _GepaRun(history, self._proposer, self._proposed, chance)
        try:
            self._package.optimize(
                seed_candidate={_PART: history.drafts[START].text},
                trainset=list(range(history.items)),
                adapter=run,
                custom_candidate_proposer=run.propose,
                reflection_minibatch_size=min(_MINIBATCH, history.items),
                stop_callbacks=[run.is_idle],
                logger=run,
                seed=self._seed,
            )
        except _LacksError as lacks:
            known = {draft.key: number for number, draft in enumerate(history.drafts)}
            number = known.get(lacks.draft.key)
            number = history.add(lacks.draft) if number is None else number
            return number, tuple(ItemRepeat(item, 0) for item in lacks.items)
        return None

    def block(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """Every item once."""
        return history.next_places(candidate, history.left(candidate, 1))

    def crown(self, history: History) -> int:
        """The highest mean of those that have answered all items."""
        return best_mean(history, [number for number in ended(history) if history.asked[number] >= history.items])

    def told(self, history: History, candidate: int) -> float:
        """The mean of its scores, which is too high for the best of many."""
        return history.mean(candidate)


class _GepaRun:
    """One run of the package: its adapter, its proposer, what stops it, and its log, which nobody reads."""

    propose_new_texts = None

    def __init__(
        self, history: History, proposer: Proposer, proposed: list[CandidateDraft | None], chance: Random
    ) -> None:
        self._history, self._proposer, self._proposed, self._chance = history, proposer, proposed, chance
        self._drafts = {draft.text: draft for draft in history.drafts}
        self._numbers = {draft.key: number for number, draft in enumerate(history.drafts)}
        # An answer that says nothing of the candidate counts 0 for the package, which knows no such thing.
        self._scores: dict[int, dict[int, float]] = {}
        for draw in history.draws:
            own = self._scores.setdefault(draw.candidate, {})
            own.update((place.item, history.scores[draw.candidate].get(place, 0.0)) for place in draw.places)
        self._met: set[tuple[int, int]] = set()
        self._asked = 0
        self._idle = 0

    def evaluate(self, batch: Sequence[int], candidate: Mapping[str, str], capture_traces: bool = False) -> Any:
        """The scores of a candidate on items by number, as the package wants them. Raises `_LacksError`."""
        del capture_traces
        draft = self._drafts[candidate[_PART]]
        number = self._numbers.get(draft.key, -1)
        scores = self._scores.get(number, {})
        lacking = list(dict.fromkeys(item for item in batch if item not in scores))  # a batch may have an item twice
        if lacking:
            raise _LacksError(draft, lacking)
        met = {(number, item) for item in batch}
        self._idle = self._idle + 1 if met <= self._met else 0
        self._met |= met
        found = [scores[item] for item in batch]
        return import_module("gepa").EvaluationBatch(outputs=list(batch), scores=found, trajectories=found)

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """What the package shows its proposer: ours looks at the workflow alone."""
        del candidate
        return {name: [{"score": score} for score in eval_batch.scores] for name in components_to_update}

    def propose(
        self, candidate: Mapping[str, str], reflective_dataset: object, components_to_update: Sequence[str]
    ) -> dict[str, str]:
        """A child by one safe move, the same as in the runs before; the parent where there is none."""
        del reflective_dataset
        parent = self._drafts[candidate[_PART]]
        if self._asked == len(self._proposed):
            number = self._numbers[parent.key]
            self._proposed.append(self._proposer.child(number, parent, self._chance))
        child = self._proposed[self._asked] or parent
        self._asked += 1
        self._drafts.setdefault(child.text, child)
        return dict.fromkeys(components_to_update, child.text)

    def is_idle(self, state: object) -> bool:
        """Whether it has long looked at known scores alone."""
        del state
        return self._idle >= _IDLE

    def log(self, message: str) -> None:
        """See the package: nobody reads it."""
