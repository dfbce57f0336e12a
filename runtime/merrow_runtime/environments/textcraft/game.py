"""The game: what is carried, and what each command does. Everything is a function of the task and the commands so far."""

from __future__ import annotations

from merrow_analysis.visible import plain
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.environments.textcraft.recipes import Book, amounts, listed
from merrow_runtime.environments.textcraft.tasks import make_task

VERSION = 1
"""Of the rules: it grows where the same commands would lead to something else."""
COMMANDS = "get 2 oak log, craft 4 oak planks using 1 oak log, or inventory"
_COMMANDS = ("get", "craft", "inventory")
_PROMPTS = ("action:", "command:", ">")
_LONGEST_COMMAND = 400
_LONGEST_QUOTED = 80
_MOST_CARRIED = 9_999
_MARKS = " \t`*\"'."


class TextCraft:
    """One life of the game."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._task = make_task(book, 0)
        self._carried: dict[str, int] = {}
        self._made: frozenset[str] = frozenset()
        self._found: frozenset[str] = frozenset()
        self._done = False

    def reset(self, task: object) -> EnvironmentStep:
        """Begin a task. Raises `merrow_runtime.environments.interface.EpisodeError`."""
        self._task = make_task(self._book, task)
        recipes = self._task.recipes
        self._carried, self._done = {}, False
        self._made = frozenset(recipe.item for recipe in recipes)
        needed = frozenset(item for recipe in recipes for item in recipe.needs)
        self._found = needed - self._made - frozenset(self._book.kinds.values())
        shown = "\n".join(recipe.command for recipe in recipes)
        return EnvironmentStep(f"Crafting commands:\n{shown}\n\nGoal: craft {self._task.goal}.")

    def step(self, action: str) -> EnvironmentStep:
        """Carry out the command of an action: its last line that is one."""
        if self._done:
            return EnvironmentStep("The game is over.", 0.0, terminated=True)
        command = command_of(action)
        word, _, rest = command.partition(" ")
        if command == "inventory":
            return EnvironmentStep(self._inventory())
        if word == "get":
            return EnvironmentStep(self._get(rest))
        if word == "craft":
            return self._craft(rest)
        return EnvironmentStep(f"Could not execute {_quoted(command)}. The commands are: {COMMANDS}.")

    def _inventory(self) -> str:
        carried = " ".join(f"[{item}] ({count})" for item, count in self._carried.items() if count)
        return f"Inventory: {carried or 'nothing'}"

    def _get(self, rest: str) -> str:
        wanted = _amounts(rest)
        if wanted is None or len(wanted) != 1:
            return f"Could not execute {_quoted(f'get {rest}')}. Say how many of which item: get 2 oak log."
        ((item, count),) = wanted.items()
        if item in self._made:
            return f"Could not get {item}: it has to be crafted."
        if item not in self._found or count == 0:
            return f"Could not find {_quoted(item)}."
        if self._carried.get(item, 0) + count > _MOST_CARRIED:
            return f"Could not get {count} {item}: more than {_MOST_CARRIED} of an item can't be carried."
        self._carried[item] = self._carried.get(item, 0) + count
        return f"Got {count} {item}"

    def _craft(self, rest: str) -> EnvironmentStep:
        made, using, needs = rest.partition(" using ")
        wanted, given = _amounts(made), _amounts(needs)
        if not using or wanted is None or given is None or len(wanted) != 1:
            said = _quoted(f"craft {rest}")
            return EnvironmentStep(
                f"Could not execute {said}. Say what is made of what: craft 4 oak planks using 1 oak log."
            )
        ((item, count),) = wanted.items()
        if not any(
            recipe.item == item and recipe.count == count and self._book.fits(recipe, given)
            for recipe in self._task.recipes
        ):
            return EnvironmentStep(
                f"Could not find a crafting command for {_quoted(item)} with these numbers and items."
            )
        missing = {name: many - self._carried.get(name, 0) for name, many in given.items()}
        missing = {name: many for name, many in missing.items() if many > 0}
        if missing:
            return EnvironmentStep(f"Could not craft {item}: {listed(missing)} missing.")
        if self._carried.get(item, 0) + count > _MOST_CARRIED:
            return EnvironmentStep(f"Could not craft {item}: more than {_MOST_CARRIED} can't be carried.")
        for name, many in given.items():
            self._carried[name] -= many
        self._carried[item] = self._carried.get(item, 0) + count
        self._done = item == self._task.goal
        return EnvironmentStep(f"Crafted {count} {item}", float(self._done), terminated=self._done)


def command_of(action: str) -> str:
    """The command in what a model says: its last line that begins with the word of a command; else its last line."""
    last = ""
    for line in action.splitlines():
        line = " ".join(line[:_LONGEST_COMMAND].casefold().split()).strip(_MARKS)
        for prompt in _PROMPTS:
            line = line.removeprefix(prompt).strip(_MARKS)
        if line and (line.partition(" ")[0] in _COMMANDS or last.partition(" ")[0] not in _COMMANDS):
            last = line
    return last


def _amounts(text: str) -> dict[str, int] | None:
    try:
        found = amounts(text.replace("minecraft:", "").replace("_", " "))
    except ValueError:
        return None
    return found


def _quoted(text: str) -> str:
    """A part of an action as observations repeat it: one line, with an end, and nothing hidden."""
    shown = plain(" ".join(text.split()))
    return shown if len(shown) <= _LONGEST_QUOTED else f"{shown[:_LONGEST_QUOTED]}..."
