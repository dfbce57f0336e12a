"""The environments that Merrow ships: each is a class, and needs no process and no consent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merrow_analysis.definitions.environments import TEXTCRAFT
from merrow_runtime.environments.interface import EnvironmentStep, EpisodeError
from merrow_runtime.environments.textcraft.game import VERSION, TextCraft
from merrow_runtime.environments.textcraft.recipe_files import read_book
from merrow_runtime.environments.textcraft.recipes import Book, RecipesError, shipped_book

SHIPPED_KEY = "shipped"
"""What says in `EnvironmentAction.of` that an environment is shipped, with its name and version."""
RECIPES_KEY = "recipes"
"""What says there which folder its recipes are from, where they are not the shipped ones."""


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
    return _version(shipped_book()) if name == TEXTCRAFT else None


def textcraft_with(folder: Path) -> dict[str, str]:
    """TextCraft with the recipes of a folder, as `EnvironmentAction.of` has it. Raises
    `merrow_runtime.environments.textcraft.recipes.RecipesError`.
    """
    place = os.path.abspath(folder)  # noqa: PTH100 (links stay as they are)
    book = read_book(Path(place))
    _books[place] = book
    return {SHIPPED_KEY: _version(book), RECIPES_KEY: place}


_books: dict[str, Book] = {}
"""By folders the recipes that were read last, for the many sessions of an evaluation."""


def _version(book: Book) -> str:
    return f"{TEXTCRAFT} {VERSION} {book.digest}"


def shipped_session(of: Mapping[str, Any]) -> ShippedSession:
    """A session with the shipped environment that ``of`` names. Raises `EpisodeError`."""
    folder = of.get(RECIPES_KEY)
    if folder is None:
        return ShippedSession(TextCraft(shipped_book()))
    book = _books.get(folder)
    if book is None or _version(book) != of[SHIPPED_KEY]:
        try:
            book = _books[folder] = read_book(Path(folder))
        except RecipesError as problem:
            raise EpisodeError(str(problem)) from None
        if _version(book) != of[SHIPPED_KEY]:
            raise EpisodeError(f"The recipes in {folder} are not those that this run began with.")
    return ShippedSession(TextCraft(book))
