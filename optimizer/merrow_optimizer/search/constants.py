"""The constants of the published loops by the names under which a user may set them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.search.stopping import Convergence
from merrow_optimizer.search.strategies.evolve import EvolveSettings
from merrow_optimizer.suggestions.tallies import REPAIRS
from merrow_runtime.errors import UsageFailure


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """What a model is asked for in a round: how many ``candidates``, of which a judge picks one; how many ``failures`` of the
    parent it is shown, drawn at random; how many ``repairs`` of a candidate that is refused; and how many ``former`` workflows a
    judge of children of two parents is shown with their scores.
    """

    candidates: int = 4
    failures: int = 3
    repairs: int = REPAIRS
    former: int = 20


@dataclass(frozen=True, slots=True)
class _Constant:
    """What a constant sets: a field of `EvolveSettings`, of `Convergence`, or of `RoundSettings`; and its bounds."""

    of: type[EvolveSettings | Convergence | RoundSettings]
    field: str
    least: float
    most: float
    is_whole: bool = False


_MOST = 1_000_000
_ASKING: Mapping[str, _Constant] = {
    "candidates": _Constant(RoundSettings, "candidates", 1, 16, is_whole=True),
    "failures": _Constant(RoundSettings, "failures", 0, 10, is_whole=True),
    "repairs": _Constant(RoundSettings, "repairs", 0, REPAIRS, is_whole=True),
    "former": _Constant(RoundSettings, "former", 0, 100, is_whole=True),
}
"""Those of a round whose candidates a model proposes."""
_LOOP: Mapping[str, _Constant] = {
    "alpha": _Constant(EvolveSettings, "alpha", 0, 100),
    "lambda": _Constant(EvolveSettings, "uniform", 0, 1),
    "sample": _Constant(EvolveSettings, "sample", 1, _MOST, is_whole=True),
    "repeats": _Constant(EvolveSettings, "repeats", 1, 100, is_whole=True),
    "max-rounds": _Constant(EvolveSettings, "most", 2, _MOST, is_whole=True),
    "top": _Constant(Convergence, "top", 1, _MOST, is_whole=True),
    "z": _Constant(Convergence, "z", 0, _MOST),
    "rounds": _Constant(Convergence, "rounds", 1, _MOST, is_whole=True),
    **_ASKING,
}
_CROSSOVER: Mapping[str, _Constant] = {
    "crossover": _Constant(EvolveSettings, "crossover", 0, 1),
    "crossover-from": _Constant(EvolveSettings, "crossover_from", 1, _MOST, is_whole=True),
}
CONSTANTS: Mapping[str, Mapping[str, _Constant]] = {"evolve": {**_LOOP, **_CROSSOVER}, "mcts": _LOOP}
"""By strategy."""


def check_constants(strategy: str, given: Mapping[str, float], *, asks: bool = True) -> None:
    """Raise `UsageFailure` where a strategy has no such constant, or it can't be so much. ``asks`` says that a model proposes."""
    known = CONSTANTS.get(strategy, {})
    for name, value in given.items():
        constant = known.get(name)
        if constant is None:
            there = f"; it has {', '.join(sorted(known))}" if known else ""
            raise UsageFailure(f"The strategy {strategy} has no constant {name!r} to set{there} (--set).")
        if constant.of is RoundSettings and not asks:
            raise UsageFailure(f"--set {name} goes with a model that proposes; add --proposer model or both.")
        if not constant.least <= value <= constant.most or (constant.is_whole and value != int(value)):
            what = "a whole number" if constant.is_whole else "a number"
            raise UsageFailure(
                f"--set {name}={value:g} can't be: it is {what} from {constant.least:g} to {constant.most:,g}."
            )


def settings_of(strategy: str, given: Mapping[str, float], repeats: int, sure: float | None) -> EvolveSettings:
    """The settings of a published loop, with the constants that are ``given``; ``repeats`` are those that it has in the end."""
    loop: dict[str, Any] = {} if strategy == "evolve" else {"crossover": 0.0}
    loop |= {**_fields(strategy, given, EvolveSettings), "repeats": repeats, "sure": sure}
    return EvolveSettings(**loop, convergence=Convergence(**_fields(strategy, given, Convergence)))


def round_settings_of(strategy: str, given: Mapping[str, float]) -> RoundSettings:
    """What a model is asked for in a round of a published loop, with the constants that are ``given``."""
    usual: dict[str, Any] = {} if strategy == "evolve" else {"candidates": 1}
    return RoundSettings(**{**usual, **_fields(strategy, given, RoundSettings)})


def _fields(strategy: str, given: Mapping[str, float], of: type[Any]) -> dict[str, Any]:
    known = CONSTANTS[strategy]
    mine = {name: value for name, value in given.items() if known[name].of is of}
    return {known[name].field: int(value) if known[name].is_whole else value for name, value in mine.items()}
