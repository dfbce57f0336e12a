"""The strategies of a search, and which of them lack a package here."""

from __future__ import annotations

from importlib.util import find_spec

from merrow_runtime.installing import how_to_install

STRATEGIES = ("climb", "guided", "evolve", "random", "mcts")
"""All of them, the default first."""


def numpy_is_missing() -> str:
    """What `guided` needs, with how to install it, in a sentence without a period."""
    return (
        "The strategy guided, which saves about half of the answers that climb asks for, needs the package numpy;"
        f" {how_to_install('optimize')}"
    )


def why_not(strategy: str) -> str | None:
    """Why a strategy can't be used here; None where it can. Nothing is imported."""
    return numpy_is_missing() if strategy == "guided" and find_spec("numpy") is None else None
