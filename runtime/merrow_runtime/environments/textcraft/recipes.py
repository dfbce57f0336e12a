"""Recipes: what makes what, and how many of each. A book of them says how deep each item is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from importlib.resources import files
from types import MappingProxyType

from merrow_runtime.records import record

DEEPEST = 8
"""Recipes in a row that the deepest item of the shipped book needs."""


@record(frozen=True, slots=True)
class Recipe:
    """``count`` of an item from ``needs``, how many of each other item."""

    item: str
    count: int
    needs: Mapping[str, int]

    @property
    def command(self) -> str:
        """The command that carries it out."""
        return f"craft {self.count} {self.item} using {listed(self.needs)}"


class RecipesError(ValueError):
    """A book that can't be used; its text is a sentence for the user."""


class Book:
    """Recipes, and what follows from all of them together.

    ``depths`` has for each item that can be had how many recipes in a row it takes: 0 for those that no recipe makes. Of
    several recipes for an item, ``best`` is the one that takes the fewest in a row, and the first of equal ones. ``kinds`` has
    items that are of a kind by whose name recipes may ask for them, as `oak planks` are `planks`; such a kind is had when one
    of them is.
    """

    def __init__(self, recipes: Iterable[Recipe], kinds: Mapping[str, str] = MappingProxyType({})) -> None:
        self.recipes, self.kinds = tuple(recipes), kinds
        made = {recipe.item for recipe in self.recipes} | set(kinds.values())
        depths = {item: 0 for recipe in self.recipes for item in recipe.needs if item not in made}
        best: dict[str, Recipe] = {}
        depth, left = 0, list(self.recipes)
        while True:
            depth += 1
            ready = [recipe for recipe in left if all(item in depths for item in recipe.needs)]
            if not ready:
                break
            left = [recipe for recipe in left if any(item not in depths for item in recipe.needs)]
            for recipe in ready:
                if recipe.item not in depths:
                    best[recipe.item] = recipe
            for recipe in ready:
                kind = kinds.get(recipe.item)
                if kind is not None and kind not in depths and kind not in best:
                    best[kind] = recipe
            depths.update(
                (name, depth)
                for recipe in ready
                for name in (recipe.item, kinds.get(recipe.item))
                if name is not None and name not in depths
            )
        self.depths: Mapping[str, int] = MappingProxyType(depths)
        self.best: Mapping[str, Recipe] = MappingProxyType(best)

    @cached_property
    def digest(self) -> str:
        """What tells it from other books: the beginning of a SHA-256, in hexadecimal."""
        text = "\n".join(recipe.command for recipe in self.recipes)
        text += "".join(f"\n{item} = {kind}" for item, kind in sorted(self.kinds.items()))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def of_depth(self, depth: int) -> list[str]:
        """The items of a depth, in the order of their names."""
        kinds = set(self.kinds.values())
        return sorted(item for item, own in self.depths.items() if own == depth and item not in kinds)

    def fits(self, recipe: Recipe, given: Mapping[str, int]) -> bool:
        """Whether what is given is what a recipe needs, item for item; where it needs a kind, any item of it is right."""
        asked = {item if item in recipe.needs else self.kinds.get(item, ""): count for item, count in given.items()}
        return len(given) == len(asked) and asked == dict(recipe.needs)

    @property
    def deepest(self) -> int:
        return max(self.depths.values(), default=0)


def listed(needs: Mapping[str, int]) -> str:
    """Items as commands write them: ``2 stick, 3 oak planks``."""
    return ", ".join(f"{count} {item}" for item, count in needs.items())


@lru_cache(maxsize=1)
def shipped_book() -> Book:
    """The book that Merrow ships."""
    return Book(read_recipes(files(__package__).joinpath("book.txt").read_text("utf-8")))


def read_recipes(text: str) -> list[Recipe]:
    """The recipes of a text in the form of the shipped book. Raises `RecipesError`."""
    families: dict[str, list[str]] = {}
    recipes: list[Recipe] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        left, _, right = line.partition("=")
        if left.startswith("@"):
            families[left[1:].strip()] = [word.strip() for word in right.split(",")]
            continue
        family = next((name for name in families if f"{{{name}}}" in line), None)
        for word in families[family] if family is not None else [""]:
            made, needs = left.replace(f"{{{family}}}", word), right.replace(f"{{{family}}}", word)
            try:
                (item, count), *more = amounts(made).items()
                wanted = amounts(needs)
            except ValueError:
                raise RecipesError(f"Line {number} is not a recipe such as `4 oak planks = 1 oak log`.") from None
            if more or not wanted:
                raise RecipesError(f"Line {number} has to make one item of others.")
            recipes.append(Recipe(item, count, wanted))
    return recipes


def amounts(text: str) -> dict[str, int]:
    """Items with how many of each, as `listed` writes them. Raises ValueError for any other text."""
    found: dict[str, int] = {}
    for part in text.split(","):
        count, _, item = part.strip().partition(" ")
        item = item.strip()
        if not item or not (count.isascii() and count.isdecimal()) or len(count) > 4 or item in found:
            raise ValueError(part)
        found[item] = int(count)
    return found
