"""The constants of the published loops by the names under which a user may set them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.search.stopping import Convergence
from merrow_optimizer.search.strategies.evolve import EvolveSettings
from merrow_runtime.errors import UsageFailure


@dataclass(frozen=True, slots=True)
class _Constant:
    """What a constant sets: a field of `EvolveSettings`, or of `Convergence` where it is about stopping; and its bounds."""

    field: str
    least: float
    most: float
    is_whole: bool = False
    stops: bool = False


_MOST = 1_000_000
_LOOP: Mapping[str, _Constant] = {
    "alpha": _Constant("alpha", 0, 100),
    "lambda": _Constant("uniform", 0, 1),
    "sample": _Constant("sample", 1, _MOST, is_whole=True),
    "repeats": _Constant("repeats", 1, 100, is_whole=True),
    "top": _Constant("top", 1, _MOST, is_whole=True, stops=True),
    "z": _Constant("z", 0, _MOST, stops=True),
    "rounds": _Constant("rounds", 1, _MOST, is_whole=True, stops=True),
}
_CROSSOVER: Mapping[str, _Constant] = {
    "crossover": _Constant("crossover", 0, 1),
    "crossover-from": _Constant("crossover_from", 1, _MOST, is_whole=True),
}
CONSTANTS: Mapping[str, Mapping[str, _Constant]] = {"evolve": {**_LOOP, **_CROSSOVER}, "mcts": _LOOP}
"""By strategy."""


def check_constants(strategy: str, given: Mapping[str, float]) -> None:
    """Raise `UsageFailure` where a strategy has no such constant, or it can't be so much."""
    known = CONSTANTS.get(strategy, {})
    for name, value in given.items():
        one = known.get(name)
        if one is None:
            there = f"; it has {', '.join(sorted(known))}" if known else ""
            raise UsageFailure(f"The strategy {strategy} has no constant {name!r} to set{there} (--set).")
        if not one.least <= value <= one.most or (one.is_whole and value != int(value)):
            what = "a whole number" if one.is_whole else "a number"
            raise UsageFailure(f"--set {name}={value:g} can't be: it is {what} from {one.least:g} to {one.most:,g}.")


def settings_of(strategy: str, given: Mapping[str, float], repeats: int, sure: float | None) -> EvolveSettings:
    """The settings of a published loop, with the constants that are ``given``; ``repeats`` are those that it has in the end."""
    known = CONSTANTS[strategy]
    loop: dict[str, Any] = {} if strategy == "evolve" else {"crossover": 0.0}
    stopping: dict[str, Any] = {}
    for name, value in given.items():
        one = known[name]
        (stopping if one.stops else loop)[one.field] = int(value) if one.is_whole else value
    return EvolveSettings(**{**loop, "repeats": repeats, "sure": sure}, convergence=Convergence(**stopping))
