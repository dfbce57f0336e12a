"""`guided`: a linear bandit over graphs, fed in batches of items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from merrow_optimizer.search.candidates import CERTAIN, START, CandidateDraft, ItemRepeat
from merrow_optimizer.search.children import MODEL, Proposer
from merrow_optimizer.search.history import History
from merrow_optimizer.search.linear import Posterior

_SELECTION = 1.5
"""How fast the chance to be a parent falls with the rank among the elites."""

_CAUTION = 0.5
"""Standard deviations that are taken off what is believed of a candidate before it is compared."""

_SAME = 0.01
"""Draws that differ by less go to the workflow with fewer calls."""


@dataclass(frozen=True, slots=True)
class GuidedSettings:
    """``pool`` children of the ``elites`` best candidates wait to be scored; ``fresh`` of them are new in each draw. The best
    child competes with the ``rivals`` best candidates for ``batch`` items. What a model proposed gets ``tried`` items at first,
    since an unknown prompt would hardly be drawn. ``patience`` stops the search after so many draws without a new crown; None
    never does.
    """

    first: int = 64
    elites: int = 6
    pool: int = 24
    fresh: int = 6
    rivals: int = 20
    batch: int = 32
    tried: int = 16
    crossover: float = 0.15
    another: float = 0.3
    certain: int = CERTAIN
    patience: int | None = None


class Guided:
    """Scores what a draw from the model's posterior says is best: a new child, or a candidate that is known a little."""

    def __init__(self, proposer: Proposer, settings: GuidedSettings | None = None) -> None:
        self._proposer = proposer
        self._settings = settings or GuidedSettings()
        self._pool: list[CandidateDraft] = []
        self._king = START
        self._since = 0
        self._believed: tuple[tuple[int, int], Posterior] | None = None

    def choose(self, history: History, chance: Random) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """The next batch; None after ``patience`` draws without a new crown, or where nothing is left."""
        settings = self._settings
        if not history.draws:
            return START, history.next_places(START, settings.first)
        if _is_all_right(history) and history.left(START, 1) > 0:
            # Whether anything can be better is seen only when the start has answered every item.
            return START, history.next_places(START, history.left(START, 1))
        posterior = self._posterior(history)
        if self._is_out_of_patience(history, posterior):
            return None
        cautious = posterior.caution(_CAUTION)
        ranked = sorted(cautious, key=lambda number: (-cautious[number], number)) or [START]
        self._refill(history, ranked[: settings.elites], chance)
        new, old = posterior.draw(self._pool, chance)
        rivals = {
            number: old[posterior.scored.index(number)]
            for number in ranked[: settings.rivals]
            if number in cautious and history.left(number) > 0
        }
        options = [(score, self._pool[place].calls, False, place) for place, score in enumerate(new)]
        options += [(score, history.drafts[number].calls, True, number) for number, score in rivals.items()]
        if not options:
            return None
        best = max(option[0] for option in options)
        _, _, is_known, which = min(
            (option for option in options if option[0] >= best - _SAME), key=lambda option: (option[1], -option[0])
        )
        candidate = which if is_known else history.add(self._pool.pop(which))
        return candidate, self.block(history, candidate)

    def block(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """A batch, at most half of the items; the first one of what a model proposed has its own size."""
        if history.drafts[candidate].operator == MODEL and not history.asked[candidate]:
            return history.next_places(candidate, self._settings.tried)
        return history.next_places(candidate, max(1, min(self._settings.batch, history.items // 2)))

    def crown(self, history: History) -> int:
        """The best by mean less half a standard deviation, of those with enough scores; the start while all it said is right."""
        return self._crown(history, self._posterior(history))

    def told(self, history: History, candidate: int) -> float:
        """What the model believes: shrunk towards what workflows like it score, so less flattering than a mean."""
        return min(1.0, max(0.0, self._posterior(history).mean_of(candidate)))

    def _posterior(self, history: History) -> Posterior:
        """The model, worked out once for each outcome: to work it out takes as long as there are candidates."""
        now = (history.applied, len(history.drafts))
        if self._believed is None or self._believed[0] != now:
            self._believed = (now, Posterior(history))
        return self._believed[1]

    def _crown(self, history: History, posterior: Posterior) -> int:
        if _is_all_right(history):
            return START
        least = min(history.items // 2, self._settings.certain)
        cautious = posterior.caution(_CAUTION)
        known = [number for number in posterior.scored if history.counts[number] >= least]
        return max(known, key=lambda number: (cautious[number], -number), default=START)

    def _is_out_of_patience(self, history: History, posterior: Posterior) -> bool:
        king = self._crown(history, posterior)
        self._since = self._since + 1 if king == self._king else 0
        self._king = king
        patience = self._settings.patience
        return patience is not None and self._since >= patience

    def _refill(self, history: History, elites: list[int], chance: Random) -> None:
        """Make new children of the elites, as many as the pool lacks and some more, which replace the oldest."""
        settings = self._settings
        for _ in range(max(settings.fresh, settings.pool - len(self._pool))):
            draft = self._child(history, elites, chance)
            if draft is None or history.has(draft.key) or any(draft.key == other.key for other in self._pool):
                continue
            self._pool.append(draft)
        del self._pool[: -settings.pool]

    def _child(self, history: History, elites: list[int], chance: Random) -> CandidateDraft | None:
        weights = [math.exp(-rank / _SELECTION) for rank in range(len(elites))]
        number = chance.choices(elites, weights)[0]
        parent = history.drafts[number]
        others = [other for other in elites if other != number]
        if others and chance.random() < self._settings.crossover:
            other = chance.choice(others)
            child = self._proposer.crossed(number, parent, other, history.drafts[other], chance)
        else:
            child = self._proposer.child(number, parent, chance)
        if child is not None and chance.random() < self._settings.another:
            further = self._proposer.further(child, chance)
            child = further or child
        return child


def _is_all_right(history: History) -> bool:
    """Whether the start has scores, and no other than 1."""
    scores = history.scores[START].values()
    return bool(scores) and all(score == 1 for score in scores)
