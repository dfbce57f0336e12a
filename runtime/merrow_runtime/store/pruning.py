"""Old runs go: by age, and by size, the oldest first. What a process works on stays."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from merrow_runtime.store import lease
from merrow_runtime.store.writer import explained, in_transaction

_AT_ONCE = 50
_OLDEST_ANSWERS = "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY used LIMIT ?)"


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many runs and answers were taken out, and how many bytes the journal holds now."""

    runs: int
    answers: int
    bytes: int


def prune(database: sqlite3.Connection, older_than_s: float | None, max_bytes: int | None) -> Pruned:
    """Take out runs that ended and answers last used more than ``older_than_s`` seconds ago, then the oldest of both until
    the journal holds at most ``max_bytes``. None: no limit of that kind. Raises `StoreFailure`.
    """
    runs = answers = 0
    if older_than_s is not None:
        before = time.time() - older_than_s
        runs += _take(database, "SELECT id FROM runs WHERE coalesce(ended, started) < ?", (before,))
        answers += in_transaction(
            database, lambda db: db.execute("DELETE FROM answers WHERE used < ?", (before,)).rowcount
        )
    while max_bytes is not None and size(database) > max_bytes:
        gone = _take(database, "SELECT id FROM runs ORDER BY started LIMIT ?", (_AT_ONCE,))
        forgotten = in_transaction(database, lambda db: db.execute(_OLDEST_ANSWERS, (10 * _AT_ONCE,)).rowcount)
        runs, answers = runs + gone, answers + forgotten
        if not gone and not forgotten:
            break
    try:
        database.execute("PRAGMA incremental_vacuum").fetchall()
    except sqlite3.Error as problem:
        raise explained(problem) from problem
    return Pruned(runs, answers, size(database))


def size(database: sqlite3.Connection) -> int:
    """Bytes that are in use in the journal's file."""
    try:
        pages, free, each = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    except sqlite3.Error as problem:
        raise explained(problem) from problem
    return int((pages - free) * each)


def _take(database: sqlite3.Connection, query: str, values: tuple[float, ...]) -> int:
    def work(database: sqlite3.Connection) -> int:
        count = 0
        for (run,) in database.execute(query, values).fetchall():
            if not lease.is_held(database, run):
                count += database.execute("DELETE FROM runs WHERE id = ?", (run,)).rowcount
        return count

    count: int = in_transaction(database, work)
    return count
