"""What the store asks of a database, whichever it is: statements, transactions, and failures in a sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from merrow_runtime.errors import StoreFailure

T = TypeVar("T")

Statement = tuple[str, Sequence[Any]]
Values = Sequence[Any] | Mapping[str, Any]

PATIENCE = 10.0
"""Seconds that a write waits for another program which holds the journal."""

AWAY = 90.0
"""Seconds for which a process that works on something waits for a server that is away."""

_PART = 64
PLACES = ", ".join("?" * _PART)
"""The places of an ``IN`` for `in_parts`."""

Why = Literal["busy", "full", "damaged", "read-only", "away", "conflict", "other"]


def in_parts(values: Sequence[T]) -> Iterator[list[T]]:
    """The values in parts for `PLACES`, the last of which repeats its last value: statements are prepared once for each text."""
    for start in range(0, len(values), _PART):
        part = list(values[start : start + _PART])
        yield part + part[-1:] * (_PART - len(part))


class Interruption:
    """That the user wants this process to end: nothing waits for a database any more which is away. A handler of signals sets it,
    so it is no more than a value.
    """

    is_wanted = False
    away: DatabaseFailure | None = None
    """How the database was found away since: what ends asks it for much, one after the other, and would wait each time."""

    @classmethod
    def forget(cls) -> None:
        """From now on the process works on something again."""
        cls.is_wanted, cls.away = False, None


class Absence:
    """That something waits for a journal which is away, or which another program holds, and for how long. Any thread may note it,
    and a display reads it from another one.
    """

    _waiting: ClassVar[set[object]] = set()
    _since: ClassVar[float | None] = None

    @classmethod
    def begin(cls, waiting: object, since: float | None = None) -> None:
        """Something waits, ``since`` a moment (`time.monotonic`) or from now on. Where another gave up, it goes on from there."""
        cls._waiting.add(waiting)
        if cls._since is None:
            cls._since = time.monotonic() if since is None else since

    @classmethod
    def end(cls, waiting: object, *, there: bool) -> None:
        """It waits no more, since the journal is ``there`` or since it has given up."""
        if there:
            cls._since = None
        cls._waiting.discard(waiting)

    @classmethod
    @contextmanager
    def noted(cls, since: float | None = None) -> Iterator[None]:
        """Within it, something waits; the journal is there where it ends without a failure."""
        waiting, there = object(), False
        cls.begin(waiting, since)
        try:
            yield
            there = True
        finally:
            cls.end(waiting, there=there)

    @classmethod
    def lasted(cls) -> float:
        """The seconds since it was found away, also where all have given up since."""
        since = cls._since
        return 0.0 if since is None else time.monotonic() - since

    @classmethod
    def seconds(cls) -> float | None:
        """For how long it has been waited for; None where nothing waits now."""
        since = cls._since
        return time.monotonic() - since if cls._waiting and since is not None else None


class DatabaseFailure(StoreFailure):
    """A database that can't do what it was asked, and ``why``: another program holds it, its disk is full, it is damaged, or it
    can't be written. ``__cause__`` is what the database said.
    """

    def __init__(self, message: str, why: Why = "other") -> None:
        super().__init__(message)
        self.why = why


class Fetched(Protocol):
    """A statement that was executed, with the rows that it gave. Everything raises `DatabaseFailure`."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, sql: str, values: Values = ..., /) -> Fetched: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection. Statements are SQL as SQLite has it, in the parts that `merrow_runtime.store` uses. Everything raises
    `DatabaseFailure`.
    """

    refused: StoreFailure | None
    """Why it is open for reading alone; None where it can be written."""

    @property
    def in_transaction(self) -> bool: ...
    def cursor(self) -> Fetched: ...
    def execute(self, sql: str, values: Values = ..., /) -> Fetched: ...
    def executemany(self, sql: str, several: Sequence[Sequence[Any]], /) -> Fetched: ...
    def close(self) -> None: ...

    def now(self) -> float:
        """Seconds since 1970 by the clock that all who use the journal go by."""
        ...

    def outlast_power(self) -> None:
        """From now on what was committed is there even after a loss of power, which takes a commit some milliseconds."""
        ...

    def size(self) -> int:
        """Bytes that are in use."""
        ...

    def shrink(self, pages: int | None = None) -> None:
        """Give back what is no longer needed: all, or at most so many pages."""
        ...

    def transaction(self, work: Callable[[Any], T], patience: float = PATIENCE) -> T:
        """What ``work`` gives, all of it committed or nothing of it, after up to ``patience`` seconds where another program holds
        the journal.
        """
        ...
