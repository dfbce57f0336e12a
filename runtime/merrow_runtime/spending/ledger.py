"""A small database beside the journal: what was spent by day, workflow and model, and the calls of the last minute.

It counts every paid call of this user on this machine: runs that were deleted since, runs that keep no journal, and those of
evaluations, which have journals of their own. A call is in ``begun`` from before it leaves until its end is written: where the
process is killed it stays there, and counts with what it used in any case.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.store.address import StoreAddress, configured, shared
from merrow_runtime.store.connection import (
    IN_MEMORY,
    DatabaseConnection,
    can_not_write,
    execute_patiently,
    opened,
    opened_for_reading,
)
from merrow_runtime.store.location import private_file, state_folder
from merrow_runtime.store.rows import storable
from merrow_runtime.store.sql import PATIENCE, Database, DatabaseFailure
from merrow_runtime.usage import Usage

T = TypeVar("T")
FILE = "spending.sqlite"
MINUTE = 60.0
_OPTIONS: dict[str, Any] = {"timeout": PATIENCE, "isolation_level": None, "check_same_thread": False}
_FLUSH_EVERY = 1.0
"""Seconds between two writes of what was counted."""
_TABLES = """
CREATE TABLE IF NOT EXISTS spent (
    day TEXT NOT NULL, workflow TEXT NOT NULL, origin TEXT NOT NULL, model TEXT NOT NULL,
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    usd REAL NOT NULL, unpriced INTEGER NOT NULL, PRIMARY KEY (day, workflow, origin, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS begun (
    number INTEGER PRIMARY KEY, day TEXT NOT NULL, workflow TEXT NOT NULL, origin TEXT NOT NULL, model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, usd REAL NOT NULL, unpriced INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS paced (number INTEGER PRIMARY KEY, origin TEXT NOT NULL, at REAL NOT NULL, tokens INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS paced_by_origin ON paced (origin, at);
"""
_BEGIN = (
    "INSERT INTO begun (day, workflow, origin, model, prompt_tokens, usd, unpriced) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " RETURNING number"
)
_SPENT = """
SELECT day, workflow, origin, model, calls, prompt_tokens, completion_tokens, usd, unpriced, 0 FROM spent
WHERE day BETWEEN :since AND :until UNION ALL
SELECT day, workflow, origin, model, count(*), sum(prompt_tokens), 0, total(usd), sum(unpriced), count(*) FROM begun
WHERE day BETWEEN :since AND :until GROUP BY day, workflow, origin, model ORDER BY 1, 2, 3, 4, 10
"""
_MONTH = "SELECT (SELECT total(usd) FROM spent WHERE day LIKE :m) + (SELECT total(usd) FROM begun WHERE day LIKE :m)"
_ADD = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, workflow, origin, model) DO UPDATE SET
    calls = spent.calls + excluded.calls, prompt_tokens = spent.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = spent.completion_tokens + excluded.completion_tokens, usd = spent.usd + excluded.usd,
    unpriced = spent.unpriced + excluded.unpriced
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls to one model cost: ``usd`` of those with a known price, ``unpriced`` calls without one. ``open`` calls are those
    without an end: on their way, or of a process that was killed. What they used is their prompts alone.

    ``day`` is a date in UTC, ``workflow`` a path ("" for runs that keep nothing).
    """

    day: str
    workflow: str
    origin: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float
    unpriced: int
    open: int = 0


def day_of(moment: float) -> str:
    """The date of a moment (seconds since 1970) in UTC."""
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


class Ledger:
    """The database of one file, shared by all runs of a process. Its methods may be called from any thread.

    ``clock`` gives seconds since 1970. All raise `StoreFailure` where the file can't be read or written.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time, *, reading: bool = False) -> None:
        """``reading`` also opens a file that can't be written."""
        self._path = path
        self._begin_empty(clock)
        self._file: tuple[int, int] | None = None
        try:
            private_file(path)
            self._database: Any = self._opened()
        except StoreFailure as refused:
            if not reading or not can_not_write(refused):
                raise
            try:
                database = opened_for_reading(path, refused, _has_tables, **_OPTIONS)
                if database is None and not path.exists():  # nothing was spent
                    database = opened(IN_MEMORY, **_OPTIONS)
                if database is not None and not _has_tables(database):
                    database.executescript(_TABLES)
            except DatabaseFailure as problem:
                raise self._failure(problem) from problem
            if database is None:
                raise
            self._database = database

    def _begin_empty(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[tuple[str | None, ...], list[float]] = {}
        self._begun: dict[int, float] = {}
        """US dollars of calls of this process that are in ``begun``, by number."""
        self._ended: list[int] = []
        """Those of them that have ended."""
        self._flushed = time.monotonic()
        self._month: tuple[str, float] = ("", 0.0)
        self._users = 0

    def _opened(self) -> DatabaseConnection:
        try:
            database = opened(str(self._path), **_OPTIONS)
            self._file = _identity(self._path)
            execute_patiently(database, "PRAGMA journal_mode = WAL")
            # A crash of the machine may lose the last writes, never the file.
            database.executescript("PRAGMA synchronous = NORMAL;" + _TABLES)
        except DatabaseFailure as problem:
            raise self._failure(problem) from problem
        return database

    def is_at_its_path(self) -> bool:
        """Whether the file is still there and was not replaced: what is written elsewhere is spending that no limit sees."""
        try:
            return _identity(self._path) == self._file
        except OSError:
            return False

    def begin(self, workflow: str, origin: str, model: str, usage: Usage) -> int:
        """Write at once that a call leaves, which uses ``usage`` in any case, and what was counted so far.

        So only calls on their way are open in the file. Returns the number to `count` it by in the end.
        """
        usd = usage.cost_usd or 0.0
        named = day_of(self._clock()), storable(workflow), storable(origin), storable(model)
        with self._lock:
            values = (*named, usage.prompt_tokens, usd, usage.cost_usd is None)
            number: int = self._written(lambda database: database.execute(_BEGIN, values).fetchone()[0])
            self._begun[number] = usd
            return number

    def count(self, workflow: str, origin: str, model: str, usage: Usage, begun: int = 0) -> None:
        """Count what calls used; it is written a second later at most, while calls come, or by `flush`. ``begun`` is the number
        of the one call that it was, 0 where it was not begun.
        """
        day = day_of(self._clock())
        key = day, storable(workflow), storable(origin), storable(model)
        unpriced = usage.calls if usage.cost_usd is None else 0
        used = usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost_usd or 0.0, unpriced
        with self._lock:
            if begun:
                self._ended.append(begun)
            if usage.calls:
                sums = self._pending.setdefault(key, [0, 0, 0, 0.0, 0])
                for place, value in enumerate(used):
                    sums[place] += value
        if time.monotonic() - self._flushed >= _FLUSH_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write what was counted."""
        with self._lock:
            self._flushed = time.monotonic()
            if self._pending or self._ended:
                self._written(lambda _: None)

    def _written(self, work: Callable[[Database], T]) -> T:
        """What ``work`` gives, in one transaction with what was counted. The lock is held."""
        ended = self._ended[:]

        def write(database: Database) -> T:
            # In one order, in which no two processes wait for each other.
            database.executemany(_ADD, sorted((*key, *sums) for key, sums in self._pending.items()))
            database.executemany("DELETE FROM begun WHERE number = ?", [(number,) for number in ended])
            return work(database)

        result = self._transaction(write)
        if self._pending or ended:
            self._month = ("", 0.0)
        self._pending.clear()
        del self._ended[: len(ended)]
        for number in ended:
            self._begun.pop(number, None)
        return result

    def enter(self) -> None:
        """A run begins to count."""
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        """A run that counted has ended: what was counted is written by the last of those at the same time, else as in `count`."""
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last or time.monotonic() - self._flushed >= _FLUSH_EVERY:
            self.flush()

    def spent(self, since: str = "", until: str = "9999-12-31") -> list[Spent]:
        """What was spent from one day to another, both included, in order."""
        self.flush()
        with self._lock:
            try:
                return [Spent(*row) for row in self._database.execute(_SPENT, {"since": since, "until": until})]
            except DatabaseFailure as problem:
                raise self._failure(problem) from problem

    def of_month(self) -> float:
        """US dollars that calls of this calendar month (UTC) cost, as far as their prices are known.

        What other processes spend is seen a second or two later.
        """
        month = day_of(self._clock())[:7]
        if time.monotonic() - self._flushed >= _FLUSH_EVERY:
            self.flush()
            self._month = ("", 0.0)
        with self._lock:
            if self._month[0] != month:
                try:
                    rows = self._database.execute(_MONTH, {"m": f"{month}-%"})
                    # Those of this process count once they have ended.
                    self._month = month, float(rows.fetchone()[0]) - sum(self._begun.values())
                except DatabaseFailure as problem:
                    raise self._failure(problem) from problem
            pending = sum(sums[3] for key, sums in self._pending.items() if str(key[0]).startswith(month))
            return self._month[1] + pending

    def admit(self, origin: str, limits: MinuteLimits, tokens: int) -> tuple[int, float]:
        """Take a place among the calls of the last minute to ``origin`` for a call of some ``tokens``.

        Its number, for `settle`, and 0; or 0 and the seconds until there may be room. A call that is larger than all tokens of
        a minute goes alone.
        """
        now = self._clock()

        def work(database: Database) -> tuple[int, float]:
            # Places of the future are of a clock that was set back since.
            database.execute("DELETE FROM paced WHERE at <= ? OR at > ?", (now - MINUTE, now + 1.0))
            rows = database.execute("SELECT at, tokens FROM paced WHERE origin = ? ORDER BY at", (origin,)).fetchall()
            wait = _wait(rows, limits, tokens, now)
            if wait > 0:
                return 0, wait
            placed = "INSERT INTO paced (origin, at, tokens) VALUES (?, ?, ?) RETURNING number"
            return database.execute(placed, (origin, now, tokens)).fetchone()[0], 0.0

        with self._lock:
            return self._transaction(work, is_alone=True)

    def settle(self, number: int, tokens: int) -> None:
        """Say how many tokens the call with this number really used."""
        sql = "UPDATE paced SET tokens = ? WHERE number = ?"
        with self._lock:
            self._transaction(lambda database: database.execute(sql, (tokens, number)))

    def _transaction(self, work: Callable[[Database], T], *, is_alone: bool = False) -> T:
        """What ``work`` gives, in one transaction; one that ``is_alone`` sees what no other one changes meanwhile."""
        del is_alone  # as every transaction of a file is
        try:
            result: T = self._database.transaction(work)
        except DatabaseFailure as problem:
            raise self._failure(problem) from problem
        return result

    def _failure(self, problem: DatabaseFailure) -> StoreFailure:
        why = str(problem.__cause__)
        if problem.why == "full":
            why = "the disk is full; make room, then run the command again"
        elif problem.why == "damaged":
            why = "the file is damaged; move it away to begin a new one, without what was spent until now"
        return StoreFailure(f"What calls cost can't be kept in {self._path}: {why}.")

    def __del__(self) -> None:
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()


def _has_tables(database: DatabaseConnection) -> bool:
    tables = database.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('spent', 'begun')").fetchone()
    return bool(tables[0] == 2)


def _identity(path: Path) -> tuple[int, int]:
    """The device and the number of a file."""
    file = path.stat()
    return file.st_dev, file.st_ino


def _wait(rows: list[tuple[float, int]], limits: MinuteLimits, tokens: int, now: float) -> float:
    """The seconds until a call of some ``tokens`` may follow ``rows``: moments and tokens of the last minute, in order."""
    last = -1  # the newest row that must have left
    if limits.requests is not None:
        last = len(rows) - limits.requests
    if limits.tokens is not None:
        held = sum(row[1] for row in rows)
        for place, row in enumerate(rows):
            if held + tokens <= limits.tokens:
                break
            held -= row[1]
            last = max(last, place)
    return max(0.0, rows[last][0] + MINUTE - now) + 0.001 if last >= 0 else 0.0


_OPEN: WeakValueDictionary[Path | StoreAddress, Ledger] = WeakValueDictionary()
_LAST: dict[str, Ledger] = {}
"""The ledger of a shared journal that was opened last: it stays open, since each run would connect again."""
atexit.register(_LAST.clear)  # while there still is what it is closed with
_OPENING = threading.Lock()


def ledger(*, reading: bool = False) -> Ledger:
    """The user's ledger, that of all who share the journal where it is in a database; ``reading`` as `Ledger` has it. Raises
    `StoreFailure`.
    """
    address = configured()
    path = address or state_folder() / FILE
    with _OPENING:
        kept = _OPEN.get(path)
        if kept is not None and kept.is_at_its_path():
            return kept
        if address is not None:
            ours: Ledger = shared("spending.shared_ledger", "SharedLedger")(address)
            _OPEN[path] = _LAST["shared"] = ours
            return ours
        assert isinstance(path, Path)  # noqa: S101 (there is no address)
        if reading:
            return Ledger(path, reading=True)
        opened_now = _OPEN[path] = Ledger(path)
        return opened_now
