"""A model that proposes in a simulated world: candidates by safe moves, with mistakes at seeded rates, and a judge who picks.

Nothing is asked. What a question would take is counted as `merrow optimize --proposer model` asks: one call for the candidates,
one for each time that a refused one goes back, and two of the judge where there is a choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from benchmarks.search.proposals import Proposals
from benchmarks.search.world import World
from merrow_optimizer.optimization.questions import ATTEMPTS, EVERY, WANTED
from merrow_optimizer.search.candidates import CandidateDraft
from merrow_optimizer.search.children import MODEL
from merrow_optimizer.search.constants import RoundSettings
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.strategies.evolve import Evolve

_BEST = 3


@dataclass(frozen=True, slots=True)
class Mistakes:
    """How often a candidate is ``invalid``, how often one that went back is ``corrected``, and how often one is a workflow that
    there is already (``repeated``), which is refused likewise.
    """

    invalid: float = 0.3
    corrected: float = 0.6
    repeated: float = 0.15


class ScriptedModel:
    """Proposes for one search. With ``rounds`` it makes the candidates of published rounds, of which the judge picks one;
    without, it is asked every few draws for candidates of the best, all of which are scored. ``calls`` are its own and the
    judge's.
    """

    def __init__(self, world: World, rounds: RoundSettings | None = None, mistakes: Mistakes | None = None) -> None:
        self._world, self._proposals, self._rounds = world, Proposals(world), rounds
        self._mistakes = mistakes or Mistakes()
        self.calls = self.questions = 0

    def before(self, search: Search) -> None:
        """Give the search what is proposed before its next draw."""
        number = len(search.history.draws) + 1
        if search.waiting:
            return
        if self._rounds is None:
            if number > 1 and (number - 2) % EVERY == 0:
                best = sorted(
                    search.history.scored(), key=lambda one: (-search.strategy.told(search.history, one), one)
                )
                chance = Random(f"{self._world.seed} asked {number}")  # noqa: S311 (no secret)
                search.give(self._candidates(search, tuple(best[:_BEST]), WANTED, chance, crossed=False))
            return
        if not isinstance(search.strategy, Evolve):
            raise TypeError("only the published loops have rounds")
        for attempt in range(ATTEMPTS):
            chance = Random(f"{self._world.seed} round {number} {attempt}")  # noqa: S311 (no secret)
            parents = search.strategy.parents(search.history, chance)
            if parents is None:
                return
            found = self._candidates(search, parents, self._rounds.candidates, chance, crossed=len(parents) > 1)
            if found:
                search.give([max(found, key=self._world.judged)])
                return

    def _candidates(
        self, search: Search, parents: tuple[int, ...], n: int, chance: Random, *, crossed: bool
    ) -> list[CandidateDraft]:
        """Those of a question that pass the gate in the end."""
        self.questions += 1
        self.calls += 1
        found: dict[str, CandidateDraft] = {}
        for _ in range(n):
            draft = self._one(search, parents, chance, crossed=crossed)
            if draft is not None and not search.history.has(draft.key):
                found.setdefault(draft.key, draft)
        if found and n > 1:
            self.calls += 1 if len(found) == 1 else 2  # Both orders of one are one question.
        return list(found.values())

    def _one(self, search: Search, parents: tuple[int, ...], chance: Random, *, crossed: bool) -> CandidateDraft | None:
        """One candidate, after as many corrections as it needs; None where they don't help."""
        mistakes, drafts = self._mistakes, search.history.drafts
        is_wrong = chance.random() < mistakes.invalid + mistakes.repeated
        repairs = 3 if self._rounds is None else self._rounds.repairs
        for _ in range(repairs if is_wrong else 0):
            self.calls += 1
            if chance.random() < mistakes.corrected:
                is_wrong = False
                break
        if is_wrong:
            return None
        first = parents[0]
        if crossed:
            other = parents[1]
            draft = self._proposals.crossed(first, drafts[first], other, drafts[other], chance)
        else:
            draft = self._proposals.child(first, drafts[first], chance)
        return draft and replace(draft, operator=MODEL, kind=draft.operator, judged=self._mark(draft))

    def _mark(self, draft: CandidateDraft) -> float:
        """The judge's mark from 1 to 10."""
        return min(10.0, max(1.0, 5.5 + 1.5 * self._world.judged(draft)))
