"""The environments that Merrow ships: each is a class, and needs no process and no consent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_analysis.definitions.environments import TEXTCRAFT
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.environments.textcraft.game import VERSION, TextCraft
from merrow_runtime.environments.textcraft.recipes import shipped_book

SHIPPED_KEY = "shipped"
"""What says in `EnvironmentAction.of` that an environment is shipped, with its name and version."""


class ShippedSession:
    """`merrow_runtime.environments.interface.EnvironmentSession` of a game in this process."""

    def __init__(self, game: TextCraft) -> None:
        self._game = game

    async def reset(self, task: Any) -> EnvironmentStep:
        return self._game.reset(task)

    async def step(self, action: str) -> EnvironmentStep:
        return self._game.step(action)

    async def close(self) -> None:
        """Nothing to release."""


def shipped_version(name: str) -> str | None:
    """What a shipped environment is known by: another version may do something else. None for any other name."""
    return f"{TEXTCRAFT} {VERSION} {shipped_book().digest}" if name == TEXTCRAFT else None


def shipped_session(of: Mapping[str, Any]) -> ShippedSession:
    """A session with the shipped environment that ``of`` names."""
    del of  # there is only one so far
    return ShippedSession(TextCraft(shipped_book()))
