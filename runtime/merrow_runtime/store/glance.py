"""A glance at the journal: which runs there are, for a shell that completes their ids.

It opens the file for reading alone and at once: it makes no journal, migrates none, and imports little.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass

from merrow_runtime.store.location import FILE, state_folder

_PATIENCE = 0.3
"""Seconds that another process may keep the journal to itself, as it does for a moment while it opens or closes it."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is seen of a run or an evaluation; ``workflow`` is the whole path of its file."""

    id: str
    workflow: str
    status: str


def newest_runs(limit: int) -> list[Glimpse]:
    """The newest runs, newest first; none where the journal isn't there or can't be read now."""
    return _newest("runs", limit)


def newest_evaluations(limit: int) -> list[Glimpse]:
    """The same for evaluations."""
    return _newest("evaluations", limit)


def _newest(table: str, limit: int) -> list[Glimpse]:
    path = state_folder() / FILE
    sql = f"SELECT id, workflow, status FROM {table} ORDER BY started DESC, id LIMIT ?"  # noqa: S608 (a name of this module)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as database:
            rows = database.execute(sql, (limit,))
            return [Glimpse(*map(str, row)) for row in rows]
    except sqlite3.Error:
        return []
