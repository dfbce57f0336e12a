"""TextCraft as a server, for other clients, and as an example of a server that workflows act in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from merrow_analysis.definitions.environments import TEXTCRAFT
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.environments.textcraft.game import TextCraft
from merrow_runtime.environments.textcraft.recipe_files import read_book
from merrow_runtime.environments.textcraft.recipes import Book, shipped_book
from merrow_runtime.outside.hosts.hosting import host


class HostedTextCraft:
    """`merrow_runtime.outside.hosts.hosting.HostedEnvironment` of the game."""

    def __init__(self, book: Book | None = None) -> None:
        self._game = TextCraft(book or shipped_book())

    def reset(self, task: Any) -> EnvironmentStep:
        return self._game.reset(task)

    def step(self, action: str) -> EnvironmentStep:
        return self._game.step(action)

    def close(self) -> None:
        """Nothing to release."""


def serve_textcraft(recipes: Path | None = None) -> None:
    """Serve the game on the standard streams until the input ends, with the recipes of a folder where one is named. Raises
    `merrow_runtime.environments.textcraft.recipes.RecipesError`.
    """
    book = None if recipes is None else read_book(recipes)
    host(TEXTCRAFT, lambda: HostedTextCraft(book))
