"""Recipes of others: a folder of Minecraft's crafting recipes as JSON, as its data packs and the published TextCraft have them.

Read are recipes of the types `crafting_shaped` and `crafting_shapeless`, in the order of their files' names. As in the
published game, the first of several ingredients at a place counts, a tag is any item whose recipe is in the group of that
name, a recipe that takes a single block apart is left out, and so is one that would make an item of what is made of it.
Nothing but the names and numbers of items comes from the files.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from merrow_analysis.visible import plain
from merrow_runtime.environments.textcraft.recipes import Book, Recipe, RecipesError

MOST_FILES = 20_000
LARGEST_FILE = 100_000
"""Bytes."""
LARGEST_FOLDER = 50_000_000
"""Bytes of all files."""
MOST_MADE = 99
"""Of an item, by one recipe."""
_FOLDERS = (".", "recipes", "recipe", "data/minecraft/recipes", "data/minecraft/recipe")
"""Where the files are, below a folder of recipes, a data pack or a copy of the game's data."""
_ITEM = re.compile(r"(?:[a-z0-9_.-]{1,60}:)?([a-z0-9_.-][a-z0-9_./-]{0,79})")
_LARGEST_GRID = 9


def read_book(folder: Path) -> Book:
    """The recipes of a folder. Raises `RecipesError` with a sentence that names the file at fault."""
    recipes: list[Recipe] = []
    kinds: dict[str, str] = {}
    made_of: dict[str, set[str]] = {}
    for name, data in _files(folder):
        recipe, group = _recipe(name, data)
        if recipe is None or (len(recipe.needs) == 1 and next(iter(recipe.needs)).endswith(" block")):
            continue
        if group is not None and group != recipe.item:
            kinds[recipe.item] = group
        before = set(recipe.needs).union(*(made_of.get(item, set()) for item in recipe.needs))
        if not before.isdisjoint({recipe.item, group} if group in recipe.needs else {recipe.item}):
            continue
        made_of.setdefault(recipe.item, set()).update(before)
        recipes.append(recipe)
    made = {recipe.item for recipe in recipes}
    book = Book(recipes, {item: kind for item, kind in kinds.items() if item in made and kind not in made})
    if book.deepest == 0:
        raise RecipesError(f"The folder {_shown(folder)} has no recipe whose items can be had.")
    return book


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The JSON files of a folder by name, each as sentences name it, with its bytes."""
    place = next((place for part in _FOLDERS if (place := folder / part).is_dir() and _has_json(place)), None)
    if place is None:
        what = "has no recipes (*.json) in it or in recipes/" if folder.is_dir() else "is not there"
        raise RecipesError(f"The folder {_shown(folder)} {what}.")
    root = place.resolve()
    count, left = 0, LARGEST_FOLDER
    for path in sorted(place.iterdir(), key=lambda path: path.name):
        if path.suffix != ".json" or path.name.startswith("."):
            continue
        name = _shown(path)
        count += 1
        if count > MOST_FILES:
            raise RecipesError(f"The folder {_shown(place)} has more than {MOST_FILES:,} recipes.")
        try:
            if not path.resolve().is_relative_to(root):
                raise RecipesError(f"{name} is a link that leads out of its folder; copy the recipe into it.")
            if not path.is_file():
                raise RecipesError(f"{name} is not a file.")
            with path.open("rb") as opened:
                data = opened.read(LARGEST_FILE + 1)
        except (OSError, RuntimeError) as problem:
            said = problem.strerror if isinstance(problem, OSError) else None
            raise RecipesError(f"{name} can't be read: {(said or 'its links form a cycle').lower()}.") from None
        if len(data) > LARGEST_FILE:
            raise RecipesError(f"{name} is too large for a recipe; at most {LARGEST_FILE // 1000} KB are read.")
        left -= len(data)
        if left < 0:
            raise RecipesError(f"The folder {_shown(place)} has more than {LARGEST_FOLDER // 1_000_000} MB of recipes.")
        yield name, data


def _has_json(place: Path) -> bool:
    try:
        return any(path.suffix == ".json" and not path.name.startswith(".") for path in place.iterdir())
    except OSError:
        return False


def _recipe(name: str, data: bytes) -> tuple[Recipe | None, str | None]:
    """The recipe of a file with its group; None for one of another type than crafting."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RecipesError(f"{name} is not UTF-8; save it as UTF-8.") from None
    except (ValueError, RecursionError):
        raise RecipesError(f"{name} is not JSON.") from None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise RecipesError(f"{name} is not a recipe: it has no `type`.")
    kind = found["type"].removeprefix("minecraft:")
    if kind == "crafting_shaped":
        needs = _of_pattern(name, found)
    elif kind == "crafting_shapeless":
        ingredients = found.get("ingredients")
        if not isinstance(ingredients, list) or not 1 <= len(ingredients) <= _LARGEST_GRID:
            raise RecipesError(f"{name} needs from 1 to {_LARGEST_GRID} `ingredients`.")
        needs = Counter(_ingredient(name, one) for one in ingredients)
    else:
        return None, None
    item, count = _result(name, found.get("result"))
    group = found.get("group")
    return Recipe(item, count, dict(needs)), _item(group) if isinstance(group, str) else None


def _of_pattern(name: str, found: Mapping[str, Any]) -> Counter[str]:
    pattern, key = found.get("pattern"), found.get("key")
    lines = pattern if isinstance(pattern, list) and all(isinstance(line, str) for line in pattern) else []
    cells = "".join(lines).replace(" ", "")
    if not 1 <= len(cells) <= _LARGEST_GRID or not isinstance(key, dict):
        raise RecipesError(f"{name} needs a `pattern` of up to {_LARGEST_GRID} places and a `key`.")
    needs: Counter[str] = Counter()
    for sign, many in Counter(cells).items():
        if sign not in key:
            raise RecipesError(f"{name} does not say in its `key` what {plain(sign)!r} is.")
        needs[_ingredient(name, key[sign])] += many
    return needs


def _ingredient(name: str, said: object) -> str:
    if isinstance(said, list) and said:
        said = said[0]
    if isinstance(said, dict):
        said = said["item"] if "item" in said else said.get("tag")
    item = _item(said.removeprefix("#")) if isinstance(said, str) else None
    if item is None:
        raise RecipesError(f"{name} has an ingredient that names no item and no tag.")
    return item


def _result(name: str, said: object) -> tuple[str, int]:
    count: object = 1
    if isinstance(said, dict):
        count, said = said.get("count", 1), said["item"] if "item" in said else said.get("id")
    item = _item(said) if isinstance(said, str) else None
    if item is None:
        raise RecipesError(f"{name} has a `result` that names no item.")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_MADE:
        raise RecipesError(f"{name} has to make from 1 to {MOST_MADE} of its item.")
    return item, count


def _item(text: str) -> str | None:
    """An item as commands write it: `minecraft:oak_planks` is `oak planks`."""
    match = _ITEM.fullmatch(text)
    return None if match is None else " ".join(match[1].replace("_", " ").split()) or None


def _shown(path: Path) -> str:
    return plain(str(path))[-200:]
