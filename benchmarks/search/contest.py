"""One search of one strategy in one world, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from benchmarks.search.proposals import Blind, JudgedProposals, Limited, Proposals, Unchecked
from benchmarks.search.scripted import ScriptedModel
from benchmarks.search.world import Rules, World
from merrow_optimizer.mutations.operator_names import CROSSOVER, OF_ONE_PARENT
from merrow_optimizer.search.candidates import START, CandidateDraft, Draw, ItemRepeat
from merrow_optimizer.search.children import Nothing
from merrow_optimizer.search.constants import round_settings_of, settings_of
from merrow_optimizer.search.engine import Search, Strategy
from merrow_optimizer.search.held_out import read_held_out
from merrow_optimizer.search.history import History
from merrow_optimizer.search.strategies.climbing import Climb, RandomWalk
from merrow_optimizer.search.strategies.evolve import Evolve, EvolveSettings, Mcts
from merrow_optimizer.search.strategies.guided import Guided, GuidedSettings
from merrow_optimizer.search.strategies.rounds import new_child

ROUNDS, REPEATS = 20, 5
"""Of the published loop."""

_HELD_OUT = 300


ORACLE = "oracle"
"""The name of the strategy that sees the truth: it says how good a workflow there is at least."""

_ORACLE_CHILDREN = 300


class Oracle:
    """Climbs by the truth, which no real search knows: children of the best five, each asked for one answer."""

    def __init__(self, world: World) -> None:
        self._world, self._proposer = world, Proposals(world)

    def choose(self, history: History, chance: Random) -> tuple[int, tuple[ItemRepeat, ...]] | None:
        """The next child."""
        number: int | None = START
        if history.draws:
            number = new_child(history, lambda chance: self._child(history, chance), chance)
        return None if number is None else (number, history.next_places(number, 1))

    def _child(self, history: History, chance: Random) -> CandidateDraft | None:
        best = sorted(range(len(history.drafts)), key=lambda one: (-self._true(history, one), one))[:5]
        parent = chance.choice(best)
        return self._proposer.child(parent, history.drafts[parent], chance)

    def block(self, history: History, candidate: int) -> tuple[ItemRepeat, ...]:
        """One answer: the truth is known."""
        return history.next_places(candidate, 1)

    def crown(self, history: History) -> int:
        """The best."""
        return max(range(len(history.drafts)), key=lambda one: (self._true(history, one), -one))

    def told(self, history: History, candidate: int) -> float:
        """The truth."""
        return self._true(history, candidate)

    def _true(self, history: History, candidate: int) -> float:
        return self._world.truth(history.drafts[candidate])


Make = Callable[[World], Strategy]


def _published(repeats: int, proposals: Callable[[World], Proposals] = JudgedProposals) -> Make:
    return lambda world: Evolve(proposals(world), EvolveSettings(repeats=repeats, most=None, convergence=None))


def _guided(proposals: Callable[[World], Proposals] = Proposals, batch: int | None = None) -> Make:
    def make(world: World) -> Strategy:
        return Guided(proposals(world), GuidedSettings(batch=batch or (32 if world.rules.items >= 60 else 16)))

    return make


STRATEGIES: dict[str, tuple[Make, float]] = {
    "published x5": (_published(5), 1.0),
    "published x1": (_published(1), 1.0),
    "guided": (_guided(), 0.5),
    "climb": (lambda world: Climb(Proposals(world)), 0.5),
    "random": (lambda world: RandomWalk(Proposals(world)), 0.5),
    "mcts x1": (
        lambda world: Mcts(Proposals(world), EvolveSettings(crossover=0, repeats=1, most=None, convergence=None)),
        0.5,
    ),
    ORACLE: (Oracle, 1.0),
}
"""Each strategy with the share of the published loop's evaluations that it may use."""

MODELS: dict[str, tuple[Make, Callable[[World], ScriptedModel]]] = {
    "evolve, model": (
        lambda _: Evolve(Nothing(), settings_of("evolve", {}, REPEATS, None)),
        lambda world: ScriptedModel(world, round_settings_of("evolve", {})),
    ),
    "mcts, model": (
        lambda _: Mcts(Nothing(), settings_of("mcts", {}, REPEATS, None)),
        lambda world: ScriptedModel(world, round_settings_of("mcts", {})),
    ),
    "evolve x1, model": (
        lambda _: Evolve(Nothing(), EvolveSettings(repeats=1, most=None, convergence=None)),
        lambda world: ScriptedModel(world, round_settings_of("evolve", {})),
    ),
    "guided, model and moves": (_guided(), ScriptedModel),
}
"""Strategies as `merrow optimize` has them with ``--proposer model`` or ``both``, each with its scripted model."""

_HALF = ("guided, model and moves",)
STRATEGIES |= {name: (make, 0.5 if name in _HALF else 1.0) for name, (make, _) in MODELS.items()}

ABLATIONS: dict[str, tuple[Make, float]] = {
    "guided, no linear model": (_guided(lambda world: Blind(world, sees_structure=False)), 0.5),
    "guided, no prompts in it": (_guided(lambda world: Blind(world, sees_structure=True)), 0.5),
    "guided, batches of 8": (_guided(batch=8), 0.5),
    "guided, batches of 59": (_guided(batch=59), 0.5),
    "guided, no check": (_guided(Unchecked), 0.5),
    "published x1, no check": (_published(1, Unchecked), 1.0),
}
"""`guided` without a part of it, and searches without the check before a score."""


def _limited(*operators: str) -> Make:
    mutations = tuple(name for name in operators if name != CROSSOVER)
    crossover = EvolveSettings().crossover if CROSSOVER in operators else 0.0
    settings = EvolveSettings(crossover=crossover, repeats=1, most=None, convergence=None)
    return lambda world: Evolve(Limited(world, mutations), settings)


EVERY_OPERATOR = (*OF_ONE_PARENT, CROSSOVER)
OPERATORS: dict[str, tuple[Make, float]] = {
    "every operator": (_limited(*EVERY_OPERATOR), 0.5),
    **{
        f"without {left_out}": (_limited(*(name for name in EVERY_OPERATOR if name != left_out)), 0.5)
        for left_out in EVERY_OPERATOR
    },
    **{f"{name} alone": (_limited(name), 0.5) for name in OF_ONE_PARENT},
}
"""The published loop with one answer to an item and without a judge, with some of the operators. Crossover can't be alone: it
takes two workflows, and a search begins with one.
"""

EVERY_STRATEGY = STRATEGIES | ABLATIONS | OPERATORS


@dataclass(frozen=True, slots=True)
class Outcome:
    """``curve`` has after each draw the evaluations and model calls so far, and the true score of the strategy's choice.

    ``told`` is what the strategy said of its last choice less the truth, ``held_out`` the same of the held-out difference, and
    ``best`` the true score of the best candidate that it scored, whether it knew that or not. ``asked`` are the calls of a model
    that proposes, with its judge's.
    """

    row: str
    strategy: str
    seed: int
    budget: int
    curve: list[tuple[int, int, float]]
    told: float
    start: float
    held_out: float
    best: float
    asked: int = 0

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

    @property
    def end(self) -> float:
        """The true score of its last choice."""
        return self.curve[-1][2]

    @property
    def items(self) -> int:
        """How many items the search had, where the published loop had all its rounds."""
        return self.budget // (ROUNDS * REPEATS)

    def calls_after(self, share: float) -> int:
        """The model calls after this share of the budget."""
        return max((calls for used, calls, _ in self.curve if used <= share * self.budget + 1e-9), default=0)


def run(row: str, rules: Rules, strategy: str, seed: int, rounds: int = ROUNDS) -> Outcome:
    """One search. The published loop has so many ``rounds``; other strategies have a share of its evaluations."""
    world = World(rules, seed)
    make, share = EVERY_STRATEGY[strategy]
    start = Proposals(world).start()
    budget = rounds * REPEATS * rules.items
    evaluations = _ORACLE_CHILDREN if strategy == ORACLE else round(share * budget)
    search = Search(start, make(world), items=rules.items, repeats=5, evaluations=evaluations, seed=seed, jobs=1)
    curve: list[tuple[int, int, float]] = []
    used = calls = 0
    drafts = search.history.drafts
    model = MODELS[strategy][1](world) if strategy in MODELS else None

    def following() -> Draw | None:
        # With one job the outcome of the last draw has arrived.
        if model is not None and search.is_ready:
            model.before(search)
        return search.next()

    while (draw := following()) is not None:
        draft = drafts[draw.candidate]
        search.outcome(draw.number, [world.answer(draft, place) for place in draw.places])
        used += len(draw.places)
        calls += len(draw.places) * draft.calls
        curve.append((used, calls, 0.0))
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
        max(world.truth(draft) for draft in drafts),
        0 if model is None else model.calls,
    )


def _crown(search: Search, applied: int) -> int:
    if search.history.applied != applied:
        raise RuntimeError("with one job, all earlier draws are applied")
    return search.crown
