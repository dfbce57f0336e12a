"""Old runs are deleted by age and by size, the oldest first. Those that a process works on stay, and those that wait for a
person, however long that takes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store import lease
from merrow_runtime.store.asks import WAITING
from merrow_runtime.store.sql import Database

_AT_ONCE = 50
_PAGES_AT_ONCE = 5_000
_ENDED = f"NOT ({WAITING})"


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many runs and answers were taken out, and how many bytes the journal holds now."""

    runs: int
    answers: int
    bytes: int


def prune(database: Database, older_than_s: float | None, max_bytes: int | None) -> Pruned:
    """Take out runs that ended and answers last used more than ``older_than_s`` seconds ago, then the oldest of both until
    the journal holds at most ``max_bytes``. None: no limit of that kind. Raises `StoreFailure`, also where a process has
    the journal open as one of its own.
    """
    opened_by = lease.opened_by(database)
    if opened_by is not None:
        host, pid = opened_by
        raise StoreFailure(
            f"The journal is open for the runs of process {pid} on {host}; prune it when that has closed it."
        )
    runs = answers = 0
    while (gone := _step(database, older_than_s, max_bytes)) != (0, 0):
        runs, answers = runs + gone[0], answers + gone[1]
    database.shrink()
    return Pruned(runs, answers, database.size())


def tidy(database: Database, older_than_s: float | None, max_bytes: int | None) -> None:
    """The same a little at a time, for the beginning of every run: next to nothing where all is within its limits;
    what is far beyond them is reduced run by run. Raises `StoreFailure`.
    """
    if _step(database, older_than_s, max_bytes) != (0, 0):
        database.shrink(_PAGES_AT_ONCE)


def _step(database: Database, older_than_s: float | None, max_bytes: int | None) -> tuple[int, int]:
    """Take out a few of the oldest runs and answers that are beyond the limits; how many of each."""
    if older_than_s is not None:
        before = time.time() - older_than_s
        old = f"SELECT id FROM runs WHERE started < ? AND coalesce(ended, started) < ? AND {_ENDED} ORDER BY started"  # noqa: S608
        gone = _take(database, old, (before, before), _AT_ONCE), _forget(database, "WHERE used < ?", (before,))
        if gone != (0, 0):
            return gone
    if max_bytes is None or database.size() <= max_bytes:
        return 0, 0
    count = _rows(database, "SELECT count(*) FROM runs", ())[0][0]
    # A tenth of them, so that of a few large ones not all are deleted where the oldest is enough.
    oldest = f"SELECT id FROM runs WHERE {_ENDED} ORDER BY started"  # noqa: S608 (texts of this package)
    runs = _take(database, oldest, (), min(_AT_ONCE, 1 + count // 10))
    return runs, _forget(database, "", ())


def _forget(database: Database, where: str, values: tuple[float, ...]) -> int:
    """Delete the answers that have been unused for the longest time."""
    # They are in the order of use, so the first ones show whether there are any.
    first = f"SELECT number, used FROM answers ORDER BY number LIMIT {10 * _AT_ONCE}"  # noqa: S608 (texts of this module)
    oldest = f"SELECT number FROM ({first}) AS oldest {where}"  # noqa: S608
    if not _rows(database, oldest, values):
        return 0  # without a transaction, which would wait for other processes
    delete = f"DELETE FROM answers WHERE number IN ({oldest})"  # noqa: S608
    count: int = database.transaction(lambda database: database.execute(delete, values).rowcount)
    return count


def _take(database: Database, query: str, values: tuple[float, ...], most: int) -> int:
    """Delete the first runs of a query that no process works on; none while a process has the journal open as its own."""
    runs = _rows(database, query, values)
    if not runs:
        return 0

    def work(database: Database) -> int:
        count = 0
        if lease.opened_by(database) is not None:
            return count
        for (run,) in runs:
            if count == most:
                break
            if not lease.is_held(database, run):
                count += database.execute("DELETE FROM runs WHERE id = ?", (run,)).rowcount
        return count

    count: int = database.transaction(work)
    return count


def _rows(database: Database, query: str, values: tuple[float, ...]) -> list[Any]:
    return database.execute(query, values).fetchall()
