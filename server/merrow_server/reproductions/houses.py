"""The tasks of ALFWorld for the rows that are played there: the numbers of the games in the user's data."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from merrow_optimizer.reproducing.papers import Row
from merrow_runtime.outside.hosts.alfworld_host import SPLITS, games
from merrow_runtime.store.location import state_folder
from merrow_server.errors import InputError

TO_SEARCH = 33
"""Games that are searched with, as in the paper; of few games at most half."""
PUBLISHED = {"seen": 140, "unseen": 134}
"""How many games the parts of the published data have."""
_SEED = 42


def split_of(row: Row) -> str:
    """The part of ALFWorld's data that a row is of, as tasks name it."""
    return row.column.removeprefix("alfworld-")


def lacking_games(row: Row, data: Path) -> str:
    """Why the games of a row can't be played, in a sentence; empty where they are there."""
    folder, count = SPLITS[split_of(row)], _count(row, data)
    if count == 0:
        return (
            f"It is played in {row.environment}, which is not part of Merrow, and {data} has no games of it in {folder}. Get"
            " them, and serve them from the folder that --data names."
        )
    if count == 1:
        return f"{data} has one game of ALFWorld in {folder}, and it takes one to search with and one to test with."
    return ""


def other_games(row: Row, items: int | None) -> str:
    """Why a figure of so many games can't be compared, in a sentence; empty where they are as many as are published."""
    split = split_of(row)
    published = PUBLISHED[split] - TO_SEARCH
    if items in (None, published):
        return ""
    return f"The games are not the published ones: of these, {published} are for the test of {split}."


def tasks_file(row: Row, data: Path, part: str) -> Path:
    """The file with the tasks of a row to search with (``validate``) or to test with, which is written into the state folder.

    Raises `InputError` where it can't be written.
    """
    count, split = _count(row, data), split_of(row)
    # Only `random` itself is promised to draw the same in every version of Python.
    drawn = Random(_SEED)  # noqa: S311 (no secret)
    order = sorted(range(count), key=[drawn.random() for _ in range(count)].__getitem__)
    search = min(TO_SEARCH, count // 2)
    chosen = sorted(order[:search] if part == "validate" else order[search:])
    rows = [{"id": f"{split}-{number}", "problem": json.dumps({"split": split, "game": number})} for number in chosen]
    text = "".join(f"{json.dumps(one)}\n" for one in rows)
    file = state_folder() / "alfworld" / f"{split}_of_{count}_{part}.jsonl"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8", newline="\n")
    except (OSError, ValueError) as problem:
        raise InputError(f"{file} can't be written: {problem}.") from None
    return file


def _count(row: Row, data: Path) -> int:
    """How many games of a row there are below a folder."""
    return len(games(data.absolute(), split_of(row))) if data.is_dir() else 0
