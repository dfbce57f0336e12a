"""A small database beside the journal: what was spent by day, workflow and model, and the calls of the last minute.

It counts every paid call of this user on this machine: runs that were deleted since, runs that keep no journal, and those of
evaluations, which have journals of their own. A call is in ``begun`` from before it leaves until its end is written: where the
process is killed it stays there, and counts with what it used in any case. A row of ``paced`` has the permits that a process
took for the calls of about a second: those that it used, once that is known.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.spending.pacing import CLOCKS_APART, Asked, Pacing
from merrow_runtime.spending.permits import NOBODY, Demand, Permit
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
_OPTIONS: dict[str, Any] = {"timeout": PATIENCE, "isolation_level": None, "check_same_thread": False}
_FLUSH_EVERY = 1.0
"""Seconds between two writes of what was counted."""
LONGEST_PAUSE = 120.0
"""Seconds for which calls wait at most since an endpoint has refused one of them."""
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
CREATE TABLE IF NOT EXISTS paced (
    number INTEGER PRIMARY KEY, origin TEXT NOT NULL, at REAL NOT NULL, tokens INTEGER NOT NULL,
    requests INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX IF NOT EXISTS paced_by_origin ON paced (origin, at);
CREATE TABLE IF NOT EXISTS paused (
    origin TEXT NOT NULL, model TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (origin, model)
) WITHOUT ROWID;
"""
_ADD_REQUESTS = "ALTER TABLE paced ADD COLUMN requests INTEGER NOT NULL DEFAULT 1"
BEGIN = (
    "INSERT INTO begun (number, day, workflow, origin, model, prompt_tokens, usd, unpriced) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING RETURNING number, (SELECT max(until) FROM paused"
    " WHERE paused.origin = begun.origin AND paused.model = begun.model)"
)
_PAUSE = (
    "INSERT INTO paused (origin, model, until) VALUES (?, ?, ?) ON CONFLICT (origin, model) DO UPDATE"
    " SET until = excluded.until WHERE excluded.until > paused.until OR paused.until > ?"
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
        """Held for moments, whoever works on what this process knows."""
        self._at_work = threading.RLock()
        """Held by who works on the database."""
        self._pending: dict[tuple[str | None, ...], list[float]] = {}
        self._writing: dict[tuple[str | None, ...], list[float]] = {}
        """What is being written, which was in ``_pending``."""
        self._begun: dict[int, float] = {}
        """US dollars of calls of this process that are in ``begun``, by number."""
        self._ended: list[int] = []
        """Those of them that have ended."""
        self._pacing = Pacing()
        self._paused: dict[tuple[str, str], float] = {}
        """Until when the calls of a model wait, as far as it is known here."""
        self._flushed = time.monotonic()
        self._month: tuple[str, float] = ("", 0.0)
        self._month_read = self._flushed
        self._users = 0
        self.is_flush_due = False
        """Whether somebody is going to call `flush_soon`."""

    def _opened(self) -> DatabaseConnection:
        try:
            database = opened(str(self._path), **_OPTIONS)
            self._file = _identity(self._path)
            execute_patiently(database, "PRAGMA journal_mode = WAL")
            # A crash of the machine may lose the last writes, never the file.
            database.executescript("PRAGMA synchronous = NORMAL;" + _TABLES)
            columns = {row[1] for row in database.execute("PRAGMA table_info(paced)")}
            if "requests" not in columns:
                self._add_requests(database)
        except DatabaseFailure as problem:
            raise self._failure(problem) from problem
        return database

    @staticmethod
    def _add_requests(database: DatabaseConnection) -> None:
        """Have rows of several requests, which those of an older version are not."""

        def add(database: Database) -> None:
            if not any(row[1] == "requests" for row in database.execute("PRAGMA table_info(paced)")):
                database.execute(_ADD_REQUESTS)

        database.transaction(add)

    def is_at_its_path(self) -> bool:
        """Whether the file is still there and was not replaced: what is written elsewhere is spending that no limit sees."""
        try:
            return _identity(self._path) == self._file
        except OSError:
            return False

    async def off_loop(self, work: Callable[[], T]) -> T:
        """What ``work`` gives, which uses the database. A file is used at once, which takes less than to have a thread do it."""
        return work()

    def begin(self, workflow: str, origin: str, model: str, usage: Usage) -> int:
        """Write at once that a call leaves, which uses ``usage`` in any case, and what was counted so far.

        So only calls on their way are open in the file. Returns the number to `count` it by in the end. Where calls of the model
        are paused, that is known from now on (`paused`).
        """
        values = self._begun_values(workflow, origin, model, usage)
        with self._at_work:
            row = self._written(lambda database: database.execute(BEGIN, (None, *values)).fetchone())
            return self._has_begun(origin, model, usage, row)

    def _begun_values(self, workflow: str, origin: str, model: str, usage: Usage) -> tuple[Any, ...]:
        named = day_of(self._at()), storable(workflow), storable(origin), storable(model)
        return *named, usage.prompt_tokens, usage.cost_usd or 0.0, usage.cost_usd is None

    def _has_begun(self, origin: str, model: str, usage: Usage, row: tuple[int, float | None]) -> int:
        number, until = row
        with self._lock:
            self._begun[number] = usage.cost_usd or 0.0
            if until is not None:
                self._paused[origin, model] = until
        return number

    def count(self, workflow: str, origin: str, model: str, usage: Usage, begun: int = 0) -> None:
        """Count what calls used; it is written a second later at most, while calls come, or by `flush`. ``begun`` is the number
        of the one call that it was, 0 where it was not begun.
        """
        day = day_of(self._at())
        key = day, storable(workflow), storable(origin), storable(model)
        unpriced = usage.calls if usage.cost_usd is None else 0
        used = usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost_usd or 0.0, unpriced
        with self._lock:
            if begun:
                self._ended.append(begun)
            if usage.calls:
                _add(self._pending, key, used)
        if time.monotonic() - self._flushed >= _FLUSH_EVERY:
            self.flush_soon()

    def flush(self) -> None:
        """Write what was counted."""
        self._flushed, self.is_flush_due = time.monotonic(), False
        with self._lock:
            now = self._at()
            is_needed = self._pending or self._ended or self._pacing.is_unwritten(now)
        if is_needed:
            self._written(lambda _: None)

    def flush_soon(self) -> None:
        """Have what was counted written, without waiting for that where it takes long."""
        self.flush()

    def _written(self, work: Callable[[Database], T]) -> T:
        """What ``work`` gives, in one transaction with what was counted."""
        with self._at_work:
            with self._lock:
                ended, self._ended = self._ended, []
                self._writing, self._pending = self._pending, {}
                self._pacing.lay_down(lambda hand: hand.is_over(self._at()))
                permits = self._pacing.taken()

            def write(database: Database) -> T:
                # In one order, in which no two processes wait for each other.
                database.executemany(_ADD, sorted((*key, *sums) for key, sums in self._writing.items()))
                database.executemany("DELETE FROM begun WHERE number = ?", [(number,) for number in ended])
                permits.write(database)
                return work(database)

            try:
                result = self._transaction(write)
            except BaseException:
                with self._lock:
                    self._ended[:0] = ended
                    for key, sums in self._writing.items():
                        _add(self._pending, key, sums)
                    self._writing = {}
                    self._pacing.keep(permits)
                raise
            with self._lock:
                month, usd = self._month
                self._month = month, usd + _usd_of(self._writing, month)
                self._writing = {}
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
            if is_last:
                self._pacing.lay_down(lambda _: True)
        if is_last or time.monotonic() - self._flushed >= _FLUSH_EVERY:
            self.flush_soon()

    def spent(self, since: str = "", until: str = "9999-12-31") -> list[Spent]:
        """What was spent from one day to another, both included, in order."""
        self.flush()
        with self._at_work:
            try:
                return [Spent(*row) for row in self._database.execute(_SPENT, {"since": since, "until": until})]
            except DatabaseFailure as problem:
                raise self._failure(problem) from problem

    @property
    def is_month_known(self) -> bool:
        """Whether `of_month` needs nothing but what this process knows."""
        return self._month[0] == day_of(self._at())[:7] and time.monotonic() - self._month_read < _FLUSH_EVERY

    def of_month(self) -> float:
        """US dollars that calls of this calendar month (UTC) cost, as far as their prices are known.

        What other processes spend is seen a second or two later.
        """
        if not self.is_month_known:
            self.flush()
            month, self._month_read = day_of(self._at())[:7], time.monotonic()
            with self._at_work:
                try:
                    rows = self._database.execute(_MONTH, {"m": f"{month}-%"}).fetchone()
                except DatabaseFailure as problem:
                    raise self._failure(problem) from problem
                with self._lock:
                    # Those of this process count once they have ended.
                    self._month = month, float(rows[0]) - sum(self._begun.values())
        return self.known_of_month()

    def month_at_start(self) -> float:
        """The same for a run that is to begin: it asks again before its first call."""
        return self.of_month()

    def known_of_month(self) -> float:
        """The same, as it was when that was last read; 0 where that was not in this month."""
        month = day_of(self._at())[:7]
        with self._lock:
            read = self._month[1] if self._month[0] == month else 0.0
            return read + _usd_of(self._pending, month) + _usd_of(self._writing, month)

    def take(self, origin: str, limits: MinuteLimits, tokens: int) -> Permit | None:
        """A permit for a call of some ``tokens`` to ``origin``, which leaves now; None where `refill` has to take some first."""
        with self._lock:
            return self._pacing.hand(origin).take(tokens, limits, self._at())

    def refill(self, origin: str, limits: MinuteLimits, tokens: int, behind: Demand = NOBODY) -> float:
        """Take permits for a call of some ``tokens``, for those that wait ``behind`` it, and for as many as are expected within
        the next second: 0, or the seconds until there may be room. A call that is larger than all tokens of a minute goes alone.
        """
        with self._at_work:
            now = self._clock()
            with self._lock:
                hand = self._pacing.hand(origin)
                asked = Asked(origin, limits, tokens, behind, hand.expected(now), now, self._late)
                self._pacing.lay_down(lambda one: one is hand)
                permits = self._pacing.taken()

            def work(database: Database) -> tuple[int, Demand, float]:
                permits.write(database)
                return asked.granted(database)

            try:
                number, granted, wait = self._transaction(work, is_alone=True)
            except BaseException:
                with self._lock:
                    self._pacing.keep(permits)
                raise
            if number:
                with self._lock:
                    hand.hold(number, granted, now)
            return wait

    _late = 0.0
    """Seconds by which a single call may leave after its permit was taken."""

    def settle(self, permit: Permit, tokens: int | None) -> None:
        """Say how many tokens the call with this permit really used; None where it did not leave."""
        with self._lock:
            self._pacing.correct(permit, tokens)

    def pause(self, origin: str, model: str, seconds: float) -> None:
        """Have the calls of all processes to a model wait so many seconds, `LONGEST_PAUSE` at most."""
        with self._at_work:
            now = self._clock()
            until = now + min(seconds, LONGEST_PAUSE)
            with self._lock:
                if self._paused.get((origin, model), 0.0) >= until - CLOCKS_APART:
                    return
                self._paused[origin, model] = until
            values = storable(origin), storable(model), until, now + LONGEST_PAUSE + CLOCKS_APART
            self._transaction(lambda database: database.execute(_PAUSE, values))

    def paused(self, origin: str, model: str) -> float:
        """The seconds for which calls to a model wait, as far as it is known here."""
        with self._lock:
            until = self._paused.get((origin, model))
            if until is None:
                return 0.0
            left = until - self._at()
            # One of the far future is of a clock that was set back since.
            if not 0 < left <= LONGEST_PAUSE + CLOCKS_APART:
                del self._paused[origin, model]
                return 0.0
            return left

    def _at(self) -> float:
        """The moment, without asking anybody."""
        return self._clock()

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


def _add(sums: dict[tuple[str | None, ...], list[float]], key: tuple[str | None, ...], more: Iterable[float]) -> None:
    known = sums.setdefault(key, [0, 0, 0, 0.0, 0])
    for place, value in enumerate(more):
        known[place] += value


def _usd_of(sums: Mapping[tuple[str | None, ...], list[float]], month: str) -> float:
    return sum(each[3] for key, each in sums.items() if month and str(key[0]).startswith(month))


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
