"""Somebody who plays TextCraft well, and workflows in which it is played."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.runtime.openai_server import Received, Reply

from merrow_runtime.environments.textcraft.recipes import Book, listed, shipped_book
from merrow_runtime.environments.textcraft.tasks import make_task, needed_for

CLASSES = "    classDef Interface fill:#eee\n    classDef DecisionOp fill:#eee\n"
ENDS = """flowchart TD
    PROBLEM([Task]):::Interface
    RETURN([Result]):::Interface
"""
REACT = (
    """---
workflow:
  memory: {last: 60}
  prompts: {act: Say the next command.}
---
"""
    + ENDS
    + """    SHOW[/"Environment<br/>(env: textcraft)"/]
    subgraph EPISODE["Loop (max: 60)"]
        GAME[/"Environment<br/>(env: textcraft)"/]
        DONE{Done?}:::DecisionOp
        ACT["Custom<br/>(role: act)"]
    end
    PROBLEM -->|task| SHOW
    SHOW -->|input| ACT
    PROBLEM -->|task| GAME
    GAME --> DONE
    DONE -->|yes| RETURN
    DONE -->|no:input| ACT
    ACT -.->|again:action| GAME
    GAME -->|over| RETURN
"""
    + CLASSES
)
"""Each turn the player sees the task, what the last command led to, and its own commands so far."""


def solution(task: object, book: Book | None = None) -> list[str]:
    """The commands that fulfil a task, as few of them as there can be. Where a kind is asked for, it is of the item that is had
    in the fewest steps.
    """
    book = book or shipped_book()
    goal = make_task(book, task).goal
    needed = needed_for(book, goal)
    wanted, crafts = {goal: 1}, list[str]()
    for recipe in needed:
        times = -(-wanted[recipe.item] // recipe.count)
        given = {book.best[item].item if item in book.best else item: count for item, count in recipe.needs.items()}
        crafts += [f"craft {recipe.count} {recipe.item} using {listed(given)}"] * times
        for item, count in given.items():
            wanted[item] = wanted.get(item, 0) + count * times
    made = {recipe.item for recipe in needed}
    return [*(f"get {count} {item}" for item, count in wanted.items() if item not in made), *reversed(crafts)]


def player(*tasks: object) -> Callable[[Received], Reply]:
    """Who answers `REACT` at an endpoint."""
    commands = {make_task(shipped_book(), task).goal: solution(task) for task in tasks}

    def answer(asked: Received) -> Reply:
        return Reply(next_command(asked.prompt, commands))

    return answer


def next_command(prompt: str, commands: Mapping[str, list[str]]) -> str:
    """The next command of the solution, after those that a prompt remembers."""
    goal = re.findall(r"Goal: craft (.*)\.", prompt)[-1]
    said = prompt.count("## Earlier result: act")
    # Where the Loop ends after a turn, the player is asked once more when it is over.
    command = [*commands[goal], "inventory"][said]
    return f"Think: step {said + 1}.\n> {command}"
