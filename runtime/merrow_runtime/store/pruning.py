"""Old runs are deleted by age and by size, the oldest first. Those that a process works on stay."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store import lease
from merrow_runtime.store.connection import explained
from merrow_runtime.store.writer import in_transaction

_AT_ONCE = 50
_PAGES_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many runs and answers were taken out, and how many bytes the journal holds now."""

    runs: int
    answers: int
    bytes: int


def prune(database: sqlite3.Connection, older_than_s: float | None, max_bytes: int | None) -> Pruned:
    """Take out runs that ended and answers last used more than ``older_than_s`` seconds ago, then the oldest of both until
    the journal holds at most ``max_bytes``. None: no limit of that kind. Raises `StoreFailure`, also where a process has
    the journal open as one of its own.
    """
    try:
        opened_by = lease.opened_by(database)
    except sqlite3.Error as problem:
        raise explained(problem) from problem
    if opened_by is not None:
        host, pid = opened_by
        raise StoreFailure(
            f"The journal is open for the runs of process {pid} on {host}; prune it when that has closed it."
        )
    runs = answers = 0
    while (gone := _step(database, older_than_s, max_bytes)) != (0, 0):
        runs, answers = runs + gone[0], answers + gone[1]
    _give_back(database, None)
    return Pruned(runs, answers, size(database))


def tidy(database: sqlite3.Connection, older_than_s: float | None, max_bytes: int | None) -> None:
    """The same a little at a time, for the beginning of every run: next to nothing where all is within its limits;
    what is far beyond them is reduced run by run. Raises `StoreFailure`.
    """
    if _step(database, older_than_s, max_bytes) != (0, 0):
        _give_back(database, _PAGES_AT_ONCE)


def _step(database: sqlite3.Connection, older_than_s: float | None, max_bytes: int | None) -> tuple[int, int]:
    """Take out a few of the oldest runs and answers that are beyond the limits; how many of each."""
    if older_than_s is not None:
        before = time.time() - older_than_s
        old = "SELECT id FROM runs WHERE started < ? AND coalesce(ended, started) < ? ORDER BY started"
        gone = _take(database, old, (before, before), _AT_ONCE), _forget(database, "WHERE used < ?", (before,))
        if gone != (0, 0):
            return gone
    if max_bytes is None or size(database) <= max_bytes:
        return 0, 0
    count = _rows(database, "SELECT count(*) FROM runs", ())[0][0]
    # A tenth of them, so that of a few large ones not all are deleted where the oldest is enough.
    runs = _take(database, "SELECT id FROM runs ORDER BY started", (), min(_AT_ONCE, 1 + count // 10))
    return runs, _forget(database, "", ())


def _give_back(database: sqlite3.Connection, pages: int | None) -> None:
    """Shrink the file by pages that are no longer needed: all, or at most a given number."""
    pragma = "PRAGMA incremental_vacuum" + ("" if pages is None else f"({pages})")
    in_transaction(database, lambda database: database.execute(pragma).fetchall())


def size(database: sqlite3.Connection) -> int:
    """Bytes that are in use in the journal's file."""
    try:
        pages, free, each = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    except sqlite3.Error as problem:
        raise explained(problem) from problem
    return int((pages - free) * each)


def _forget(database: sqlite3.Connection, where: str, values: tuple[float, ...]) -> int:
    """Delete the answers that have been unused for the longest time."""
    # They are in the order of use, so the first ones show whether there are any.
    first = f"SELECT number, used FROM answers ORDER BY number LIMIT {10 * _AT_ONCE}"  # noqa: S608 (texts of this module)
    oldest = f"SELECT number FROM ({first}) {where}"  # noqa: S608
    if not _rows(database, oldest, values):
        return 0  # without a transaction, which would wait for other processes
    count: int = in_transaction(
        database,
        lambda database: database.execute(f"DELETE FROM answers WHERE number IN ({oldest})", values).rowcount,  # noqa: S608
    )
    return count


def _take(database: sqlite3.Connection, query: str, values: tuple[float, ...], most: int) -> int:
    """Delete the first runs of a query that no process works on; none while a process has the journal open as its own."""
    runs = _rows(database, query, values)
    if not runs:
        return 0

    def work(database: sqlite3.Connection) -> int:
        count = 0
        if lease.opened_by(database) is not None:
            return count
        for (run,) in runs:
            if count == most:
                break
            if not lease.is_held(database, run):
                count += database.execute("DELETE FROM runs WHERE id = ?", (run,)).rowcount
        return count

    count: int = in_transaction(database, work)
    return count


def _rows(database: sqlite3.Connection, query: str, values: tuple[float, ...]) -> list[Any]:
    try:
        return database.execute(query, values).fetchall()
    except sqlite3.Error as problem:
        raise explained(problem) from problem
