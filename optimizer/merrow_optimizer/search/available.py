"""The strategies of a search, and which of them lack a package here."""

from __future__ import annotations

from importlib.util import find_spec

from merrow_runtime.installing import how_to_install

STRATEGIES = ("climb", "guided", "evolve", "random", "mcts", "gepa")
"""All of them, the default first."""
_NEEDS = {
    "guided": (
        "numpy",
        "optimize",
        "which saves about half of the answers that climb asks for, needs the package numpy",
    ),
    "gepa": ("gepa", "gepa", "needs the package of that name"),
}


def needs_package(strategy: str) -> str:
    """What a strategy that needs a package needs, with how to install it, in a sentence without a period."""
    _, extra, need = _NEEDS[strategy]
    comma = "," if need.startswith("which") else ""
    return f"The strategy {strategy}{comma} {need}; {how_to_install(extra)}"


def why_not(strategy: str) -> str | None:
    """Why a strategy can't be used here, as `needs_package` says it; None where it can. Nothing is imported."""
    if strategy not in _NEEDS or find_spec(_NEEDS[strategy][0]) is not None:
        return None
    return needs_package(strategy)
