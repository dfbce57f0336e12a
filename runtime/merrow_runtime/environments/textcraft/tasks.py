"""Tasks: an item to be crafted, and the recipes that are shown for it, drawn from a book by a seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any, TypeVar

from merrow_runtime.environments.interface import EpisodeError
from merrow_runtime.environments.textcraft.recipes import DEEPEST, Book, Recipe
from merrow_runtime.records import record

T = TypeVar("T")

SHALLOWEST_DRAWN, DEEPEST_DRAWN = 2, 4
"""Depths that tasks have where none is asked for."""
LARGEST_SEED = 2**53
_LEAST_DISTRACTORS = 4
_LONGEST_TEXT = 100
_TASK = "A task of textcraft is {seed: 7} or {seed: 7, depth: 3}"


@record(frozen=True, slots=True)
class CraftingTask:
    """What is to be crafted, and the recipes that may be used: those that it takes, and others that lead nowhere."""

    goal: str
    recipes: tuple[Recipe, ...]


def make_task(book: Book, task: object) -> CraftingTask:
    """The task that ``task`` says: ``{seed, depth}``, or a number, the seed. Raises `EpisodeError`."""
    seed, depth = _read(task)
    # Only `random` itself is promised to draw the same in every version of Python.
    random = Random(seed)  # noqa: S311 (no secret)
    if depth is None:
        depths = [depth for depth in range(SHALLOWEST_DRAWN, DEEPEST_DRAWN + 1) if book.of_depth(depth)]
        if not depths:
            raise EpisodeError("The recipes make nothing that takes several of them.")
        depth = _drawn(random, depths)
    goals = book.of_depth(depth)
    if not goals:
        raise EpisodeError(f"No item takes {depth} recipes in a row; the deepest takes {book.deepest}.")
    goal = _drawn(random, goals)
    needed = needed_for(book, goal)
    recipes = [*needed, *_distractors(book, needed, random)]
    shown: list[Recipe] = []
    while recipes:
        shown.append(recipes.pop(int(random.random() * len(recipes))))
    return CraftingTask(goal, tuple(shown))


def needed_for(book: Book, goal: str) -> list[Recipe]:
    """The recipes for an item and for what it is made of, the last to be used first."""
    needed: dict[str, Recipe] = {}
    waiting = [goal]
    while waiting:
        item = waiting.pop()
        recipe = book.best.get(item)
        if recipe is not None and recipe.item not in needed:
            needed[recipe.item] = recipe
            waiting += recipe.needs
    return sorted(needed.values(), key=lambda recipe: -book.depths[recipe.item])


def _distractors(book: Book, needed: list[Recipe], random: Random) -> list[Recipe]:
    """As many recipes again (at least four) that use something that the task is about, and make nothing that it needs."""
    about = {item for recipe in needed for item in (recipe.item, *recipe.needs)}
    others = [recipe for recipe in book.recipes if recipe.item not in about and not about.isdisjoint(recipe.needs)]
    found: list[Recipe] = []
    while others and len(found) < max(_LEAST_DISTRACTORS, len(needed)):
        found.append(others.pop(int(random.random() * len(others))))
    return found


def _drawn(random: Random, of: list[T]) -> T:
    return of[int(random.random() * len(of))]


def _read(task: object) -> tuple[int, int | None]:
    if isinstance(task, str):
        task = _of_text(task)
    said: dict[str, Any] = task if isinstance(task, dict) else {"seed": task}
    unknown = next((name for name in said if name not in ("seed", "depth")), None)
    if unknown is not None:
        raise EpisodeError(f"{_TASK}; it has no `{str(unknown)[:40]}`.")
    seed = _whole(said.get("seed"), 0, LARGEST_SEED)
    if seed is None:
        raise EpisodeError(f"{_TASK}, with a whole number from 0 as its seed.")
    if said.get("depth") is None:
        return seed, None
    depth = _whole(said["depth"], 1, DEEPEST)
    if depth is None:
        raise EpisodeError(f"{_TASK}; its depth is a whole number from 1 to {DEEPEST}.")
    return seed, depth


def _of_text(text: str) -> object:
    """What a short text says as JSON, such as `{"seed": 7}`; else the text."""
    try:
        return json.loads(text) if len(text) <= _LONGEST_TEXT else text
    except ValueError:
        return text


def _whole(value: object, least: int, most: int) -> int | None:
    """A whole number within limits, also as 7.0; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return value if fits and isinstance(value, int) else None
