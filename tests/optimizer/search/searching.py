"""Searches without graphs: candidates are numbers with a true score, and children are a little better or worse."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from zlib import crc32

from merrow_optimizer.search.candidates import CandidateDraft, Draw
from merrow_optimizer.search.engine import Search, Strategy
from merrow_optimizer.search.features import SIZE
from merrow_optimizer.search.strategies.climbing import Climb, RandomWalk
from merrow_optimizer.search.strategies.evolve import Evolve, EvolveSettings, Mcts
from merrow_optimizer.search.strategies.guided import Guided, GuidedSettings

KINDS = ("add", "remove")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def draft(key: str, parents: tuple[int, ...] = (), operator: str = "", title: str = "") -> CandidateDraft:
    return CandidateDraft(f"text of {key}", parents, operator, title, key, features(key), len(key) % 7 + 1, 5)


@cache
def features(key: str) -> tuple[float, ...]:
    found = [1.0] + [0.0] * (SIZE - 1)
    for place in range(len(key)):
        found[1 + crc32(key[place : place + 2].encode()) % (SIZE - 1)] += 1.0
    return tuple(found)


class Words:
    """A proposer whose workflows are words: a child is its parent with another letter."""

    operators = KINDS

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        operator = operator or chance.choice(KINDS)
        if operator == "remove":
            return draft(parent.key[:-1], (number,), operator) if len(parent.key) > 1 else None
        return draft(parent.key + chance.choice(LETTERS), (number,), operator)

    def further(self, one: CandidateDraft, chance: Random) -> CandidateDraft | None:
        return draft(one.key + chance.choice(LETTERS), one.parents, one.operator)

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        return draft(parent.key[:2] + other.key[2:] + chance.choice(LETTERS), (number, other_number), "crossover")


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "guided": lambda: Guided(Words(), GuidedSettings(batch=16, first=16, patience=12)),
    "evolve": lambda: Evolve(Words(), EvolveSettings(crossover=0.4, repeats=2)),
    "mcts": lambda: Mcts(Words()),
    "climb": lambda: Climb(Words()),
    "random": lambda: RandomWalk(Words()),
}


def score(one: CandidateDraft, draw: Draw, place: int) -> float | None:
    """A score that follows from the candidate and the place alone; now and then an answer says nothing."""
    luck = Random(f"{one.key} {draw.places[place]}").random()
    return None if luck > 0.97 else float(luck < 0.3 + 0.05 * min(len(one.key), 10))


def scores(search: Search, draw: Draw) -> list[float | None]:
    one = search.history.drafts[draw.candidate]
    return [score(one, draw, place) for place in range(len(draw.places))]


def begin(name: str, *, seed: int, jobs: int = 1, items: int = 20, repeats: int = 2, evaluations: int = 240) -> Search:
    return Search(
        draft("s"), STRATEGIES[name](), items=items, repeats=repeats, evaluations=evaluations, seed=seed, jobs=jobs
    )


def run(search: Search, shuffle: Random | None = None) -> Search:
    """Drive a search to its end; with ``shuffle`` the outcomes of draws in flight arrive in any order."""
    waiting: list[Draw] = []
    while True:
        draw = search.next()
        if draw is not None:
            waiting.append(draw)
            continue
        if not waiting:
            return search
        place = 0 if shuffle is None else shuffle.randrange(len(waiting))
        one = waiting.pop(place)
        search.outcome(one.number, scores(search, one))
