"""One search of one strategy in one world, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from benchmarks.search.world import Rules, World, start_workflow
from merrow_optimizer.search.candidates import Draft
from merrow_optimizer.search.children import Moves
from merrow_optimizer.search.engine import Search, Strategy
from merrow_optimizer.search.held_out import read_held_out
from merrow_optimizer.search.strategies.climbing import Climb, RandomWalk
from merrow_optimizer.search.strategies.evolve import Evolve, EvolveSettings, Mcts
from merrow_optimizer.search.strategies.guided import Guided, GuidedSettings
from merrow_runtime import RunOptions

ROUNDS, REPEATS = 20, 5
"""Of the published loop."""

_HELD_OUT = 300


class Judged(Moves):
    """The published proposer: of four children the one that a judge likes best, who has not run them."""

    def __init__(self, world: World) -> None:
        super().__init__(start_workflow(), RunOptions(default_model="m"))
        self._world = world

    def child(self, number: int, parent: Draft, chance: Random, operator: str | None = None) -> Draft | None:
        drafts = [super(Judged, self).child(number, parent, chance, operator) for _ in range(4)]
        return max((draft for draft in drafts if draft is not None), key=self._world.judged, default=None)


def _published(repeats: int) -> Callable[[World], Strategy]:
    return lambda world: Evolve(Judged(world), EvolveSettings(repeats=repeats, convergence=None))


def _moves() -> Moves:
    return Moves(start_workflow(), RunOptions(default_model="m"))


STRATEGIES: dict[str, tuple[Callable[[World], Strategy], float]] = {
    "published x5": (_published(5), 1.0),
    "published x1": (_published(1), 1.0),
    "guided": (lambda world: Guided(_moves(), GuidedSettings(batch=32 if world.rules.items >= 60 else 16)), 0.5),
    "climb": (lambda _: Climb(_moves()), 0.5),
    "random": (lambda _: RandomWalk(_moves()), 0.5),
    "mcts x1": (lambda _: Mcts(_moves(), EvolveSettings(crossover=0, repeats=1, convergence=None)), 0.5),
}
"""Each strategy with the share of the published loop's evaluations that it may use."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``curve`` has after each draw the evaluations and model calls so far, and the true score of the strategy's choice.

    ``told`` is what the strategy said of its last choice less the truth, ``held_out`` the same of the held-out difference.
    """

    row: str
    strategy: str
    seed: int
    budget: int
    curve: list[tuple[int, int, float]]
    told: float
    start: float
    held_out: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def at(self, share: float) -> float:
        """The true score of its choice after this share of the budget."""
        reached = self.start
        for evaluations, _, score in self.curve:
            if evaluations > share * self.budget + 1e-9:
                break
            reached = score
        return reached

    def needed(self, score: float) -> tuple[int, int] | None:
        """Evaluations and calls until its choice is as good as this, and stays so."""
        found = None
        for evaluations, calls, reached in reversed(self.curve):
            if reached < score:
                break
            found = evaluations, calls
        return found


def run(row: str, rules: Rules, strategy: str, seed: int, rounds: int = ROUNDS) -> Outcome:
    """One search. The published loop has so many ``rounds``; other strategies have a share of its evaluations."""
    world = World(rules, seed)
    make, share = STRATEGIES[strategy]
    start = _moves().start()
    budget = rounds * REPEATS * rules.items
    search = Search(
        start, make(world), items=rules.items, repeats=5, evaluations=round(share * budget), seed=seed, jobs=1
    )
    curve: list[tuple[int, int, float]] = []
    evaluations = calls = 0
    drafts = search.history.drafts
    while (draw := search.next()) is not None:
        draft = drafts[draw.candidate]
        search.outcome(draw.number, [world.answer(draft, place) for place in draw.places])
        evaluations += len(draw.places)
        calls += len(draw.places) * draft.calls
        curve.append((evaluations, calls, 0.0))
        # The choice is known when the next draw is made, which applies this one.
        if draw.number > 1:
            curve[-2] = (*curve[-2][:2], world.truth(drafts[_crown(search, draw.number - 1)]))
    curve[-1] = (*curve[-1][:2], world.truth(drafts[search.crown]))
    crown = drafts[search.crown]
    reading = read_held_out(world.held_out(start, _HELD_OUT), world.held_out(crown, _HELD_OUT))
    true = world.truth(crown) - world.truth(start)
    return Outcome(
        row,
        strategy,
        seed,
        budget,
        curve,
        search.told - world.truth(crown),
        world.truth(start),
        reading.difference - true,
    )


def _crown(search: Search, applied: int) -> int:
    if search.history.applied != applied:
        raise RuntimeError("with one job, all earlier draws are applied")
    return search.crown
