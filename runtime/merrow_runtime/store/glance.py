"""A glance at the journal: which runs there are, for a shell that completes their ids; whether a workflow was evaluated.

It opens the file for reading alone and at once: it makes no journal, migrates none, and imports little.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from merrow_runtime.errors import RunFailure, StoreFailure
from merrow_runtime.store.address import configured, shared
from merrow_runtime.store.connection import opened
from merrow_runtime.store.location import FILE, state_folder

_SOON = 2
"""Seconds that the server of a shared journal has to answer."""
_PATIENCE = 0.3
"""Seconds that another process may keep the journal to itself, as it does for a moment while it opens or closes it."""


Kind = Literal["run", "evaluation", "batch", "search", "extraction", "plan", "suggestion", "reproduction"]
TABLES: Mapping[Kind, tuple[str, str, str]] = {
    "run": ("runs", "workflow", "runs"),
    "evaluation": ("(SELECT * FROM evaluations WHERE metric <> 'batch') AS scored", "workflow", "evaluations"),
    "batch": ("(SELECT * FROM evaluations WHERE metric = 'batch') AS batches", "workflow", "batches"),
    "search": ("optimizations", "workflow", "searches"),
    "extraction": ("extractions", "cases", "extractions"),
    "plan": ("(SELECT * FROM jobs WHERE kind = 'plan') AS plans", "file", "plans"),
    "suggestion": ("(SELECT * FROM jobs WHERE kind = 'suggestion') AS suggestions", "file", "suggestions"),
    "reproduction": ("(SELECT * FROM jobs WHERE kind = 'reproduction') AS reproductions", "file", "reproductions"),
}
"""Where each kind is, its column with the path of the file that one is of, and what several are called."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is seen of a job; ``workflow`` is the whole path of its file, for an extraction that with the solved cases."""

    id: str
    workflow: str
    status: str


def newest(kind: Kind, limit: int) -> list[Glimpse]:
    """The newest of a kind, newest first; none where the journal isn't there or can't be read now."""
    table, file, _ = TABLES[kind]
    sql = f"SELECT id, {file}, status FROM {table} ORDER BY started DESC, id LIMIT ?"  # noqa: S608 (names of this module)
    return [Glimpse(*map(str, row)) for row in _rows(sql, limit)]


def has_evaluation(workflow: str) -> bool:
    """Whether there is an evaluation of a workflow, by the whole path of its file; no where the journal can't be read now."""
    return bool(_rows("SELECT 1 FROM evaluations WHERE workflow = ? AND metric <> 'batch' LIMIT 1", workflow))


def has_search(workflow: str) -> bool:
    """The same for searches."""
    return bool(_rows("SELECT 1 FROM optimizations WHERE workflow = ? LIMIT 1", workflow))


def _rows(sql: str, value: str | int) -> list[tuple[Any, ...]]:
    try:
        if (address := configured()) is not None:
            connection = shared("store.postgres.connection", "PostgresConnection")
            with closing(connection(address, seconds=_SOON)) as server:
                return [tuple(row) for row in server.execute(sql, (value,)).fetchall()]
    except RunFailure:
        return []
    path = state_folder() / FILE
    # Where nothing can be written, SQLite reads a file in this way alone; one with a log is then left alone.
    for options in ("mode=ro", "immutable=1") if _has_no_log(path) else ("mode=ro",):
        with contextlib.suppress(StoreFailure):
            uri = f"{path.absolute().as_uri()}?{options}"
            with closing(opened(str(path), uri, timeout=_PATIENCE)) as database:
                fetched: list[tuple[Any, ...]] = database.execute(sql, (value,)).fetchall()
                return fetched
    return []


def _has_no_log(path: Path) -> bool:
    try:
        return path.with_name(path.name + "-wal").stat().st_size == 0
    except OSError:
        return True
