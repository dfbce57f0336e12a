"""A glance at the journal: which runs there are, for a shell that completes their ids; whether a workflow was evaluated.

It opens the file for reading alone and at once: it makes no journal, migrates none, and imports little.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from merrow_runtime.store.location import FILE, state_folder

_PATIENCE = 0.3
"""Seconds that another process may keep the journal to itself, as it does for a moment while it opens or closes it."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is seen of a run; ``workflow`` is the whole path of its file."""

    id: str
    workflow: str
    status: str


def newest_runs(limit: int) -> list[Glimpse]:
    """The newest runs, newest first; none where the journal isn't there or can't be read now."""
    rows = _rows("SELECT id, workflow, status FROM runs ORDER BY started DESC, id LIMIT ?", limit)
    return [Glimpse(*map(str, row)) for row in rows]


def has_evaluation(workflow: str) -> bool:
    """Whether there is an evaluation of a workflow, by the whole path of its file; no where the journal can't be read now."""
    return bool(_rows("SELECT 1 FROM evaluations WHERE workflow = ? LIMIT 1", workflow))


def _rows(sql: str, value: str | int) -> list[tuple[Any, ...]]:
    path = state_folder() / FILE
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as database:
            return database.execute(sql, (value,)).fetchall()
    except sqlite3.Error:
        return []
