"""Writes that are committed together: what several nodes record at the same moment is one transaction."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.beating import Beating
from merrow_runtime.store.sql import PATIENCE, Absence, Database, DatabaseFailure, Statement

T = TypeVar("T")
BALLAST = 4 << 20
"""Bytes reserved on the disk: when it is full they are freed, so that what is in flight can still be kept."""

_LAZY = 0.05
"""Seconds that a write which nothing waits for may be held back, to share a commit."""

_GATHERING = 0.005
"""Seconds between two commits of a writer that gathers."""

BUSY = 0.02
"""Seconds of that which are spent at a time; the event loop continues in between."""


class PendingWrite(NamedTuple):
    """A statement that waits to be committed, and who waits for that. ``lasts`` says that the commit must survive whatever
    happens to a server; in a file it survives the death of the process.
    """

    statement: Statement
    done: asyncio.Future[bool] | None = None
    lasts: bool = False


class Writer:
    """The only way into the database for a run: statements, in the order they came.

    A write is made on the event loop's own thread. A commit takes some 30 microseconds, less than handing it to another
    thread does, and what becomes ready in one turn of the loop shares it.
    """

    def __init__(self, database: Database, ballast: Path | None, before: Writer | None = None) -> None:
        """What waits at the writer ``before`` is committed before what waits here."""
        self.database = database
        self._ballast = ballast
        self._before = before
        self._waiting: list[PendingWrite] = []
        self._timer: asyncio.Handle | None = None
        self._urgent = False
        self._full: str | None = None
        self._busy_since: float | None = None
        self._committed = 0.0
        self._gathering = 0
        self.beating = Beating(lambda work: self.off_loop(lambda writer: writer.attempt(work)))
        """Shows that the runs are alive whose leases this process has in the journal."""
        self.author: str | None = None
        """Whose work alone is listed; None: everybody's."""

    def shown(self, column: str, file: str | None) -> tuple[str, tuple[str, ...]]:
        """The condition for what is listed, with its values: of a ``file``, by the ``column`` that has it, and of the
        `author`.
        """
        asked = {column: file, "author": self.author}
        given = {name: value for name, value in asked.items() if value is not None}
        return f"WHERE {' AND '.join(f'{name} = ?' for name in given)}" if given else "", tuple(given.values())

    @contextlib.contextmanager
    def gathering(self) -> Iterator[None]:
        """Within it a commit follows the one before after five milliseconds at the earliest: what many independent runs write is
        then committed together. A write that comes alone is still committed at once.
        """
        self._gathering += 1
        try:
            yield
        finally:
            self._gathering -= 1

    def begin_reading(self) -> None:
        """From here to the end of this turn of the event loop what is read is read in one transaction: taking the locks for
        a row takes longer than reading it. Any write ends it before. Raises `StoreFailure`.
        """
        if not self.database.in_transaction:
            self.database.execute("BEGIN")
            asyncio.get_running_loop().call_soon(self._end_reading)

    def write(self, statement: Statement, *, at_once: bool = False, lasts: bool = True) -> asyncio.Future[bool]:
        """Queue a write; the future is done once it is committed, or fails with `StoreFailure`. It is False where what would have
        been written may be there already, by another process.

        It is committed with all that comes in this turn of the loop, or ``at_once`` where no other program is in the way;
        ``lasts`` as in `PendingWrite`.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(PendingWrite(statement, done, lasts))
        if at_once:
            self.flush(0.0)
        elif not self._urgent:
            self._urgent = True
            if self._timer is not None:
                self._timer.cancel()
            wait = self._committed + _GATHERING - time.monotonic() if self._gathering else 0.0
            if wait > 0:
                self._timer = loop.call_later(wait, self._flush_in_turn)
            else:
                self._timer = loop.call_soon(self._flush_in_turn)
        return done

    def write_later(self, statement: Statement) -> None:
        """Queue a write that nothing waits for; it is part of the next commit."""
        self._waiting.append(PendingWrite(statement))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LAZY, self._flush_in_turn)

    def write_soon(self, statement: Statement) -> asyncio.Future[bool]:
        """The same, where somebody waits for it all the same, but no longer than a few hundredths of a second."""
        self.write_later(statement)
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[-1] = PendingWrite(statement, done, lasts=True)
        return done

    def write_first(self, statement: Statement) -> None:
        """The same before all else that waits, for a row that rows of other tables refer to."""
        self.write_later(statement)
        self._waiting.insert(0, self._waiting.pop())

    def flush(self, patience: float = PATIENCE) -> None:
        """Commit what waits, waiting up to ``patience`` seconds. Never raises: what waits for a write gets the failure."""
        if self._before is not None:
            self._before.flush(patience)
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._urgent = None, False
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        problem: StoreFailure | None = None
        try:
            self._commit([pending.statement for pending in waiting], patience)
            self._committed = time.monotonic()
            self._wait_no_more(there=True)
        except StoreFailure as failure:
            if not patience and self._comes_again(failure):
                self._waiting[:0] = waiting
                return
            problem = failure
            self._wait_no_more(there=False)
            if why_of(failure) in ("busy", "full"):
                # Nothing is given up: it is tried again with the next write.
                self._waiting[:0] = [PendingWrite(pending.statement) for pending in waiting]
        except Exception as fault:  # noqa: BLE001 (a fault in Merrow: what waits must get it, or would wait forever)
            problem = StoreFailure(f"The journal of runs failed: {type(fault).__name__}: {fault}.")
            problem.__cause__ = fault
        if problem is None and self._full is not None:
            problem = StoreFailure(self._full)
        for pending in waiting:
            done = pending.done
            if done is not None and not done.done():
                if problem is None:
                    done.set_result(True)
                else:
                    done.set_exception(problem)

    def now(self, work: Callable[[Database], Any]) -> Any:
        """Do something in a transaction of its own, after what waits. Raises `StoreFailure`."""
        self.flush()
        return self.database.transaction(work)

    def attempt(self, work: Callable[[Database], Any]) -> Any:
        """The same at once or not at all, without what waits: `StoreFailure` where another program holds the journal."""
        return self.database.transaction(work, 0.0)

    async def off_loop(self, work: Callable[[Writer], T]) -> T:
        """What ``work`` gives, which reads or writes by a writer like this one, after what waits: done where the event loop waits
        for nobody else. A file is used at once, which takes less than to have a thread do it. Raises `StoreFailure`.
        """
        return work(self)

    async def until_there(self) -> None:
        """Wait until the server answers, for what then reads and writes in the event loop, which would wait with it. A file is
        always there. Raises `StoreFailure`.
        """

    def close(self) -> None:
        """Write what waits, and close the database."""
        self.flush()
        self.database.close()

    def _end_reading(self) -> None:
        with contextlib.suppress(StoreFailure):  # nothing can be lost
            if self.database.in_transaction:
                self.database.execute("COMMIT")

    def _flush_in_turn(self) -> None:
        self.flush(0.0)

    def _comes_again(self, failure: StoreFailure) -> bool:
        """Where another program holds the journal, try again in a while, unless that has lasted for too long."""
        if why_of(failure) != "busy":
            return False
        now = time.monotonic()
        if self._busy_since is None:
            self._busy_since = now
            Absence.begin(self)
        if now - self._busy_since > PATIENCE:
            return False
        self._urgent = True
        self._timer = asyncio.get_running_loop().call_later(BUSY, self._flush_in_turn)
        return True

    def _wait_no_more(self, *, there: bool) -> None:
        if self._busy_since is not None:
            self._busy_since = None
            Absence.end(self, there=there)

    def _commit(self, statements: Sequence[Statement], patience: float) -> None:
        # Statements of one kind together, in their order: different kinds touch different rows.
        kinds: dict[str, list[Sequence[Any]]] = {}
        for sql, values in statements:
            kinds.setdefault(sql, []).append(values)

        def work(database: Database) -> None:
            for sql, several in kinds.items():
                database.executemany(sql, several)

        try:
            self.database.transaction(work, patience)
        except StoreFailure as failure:
            if why_of(failure) != "full" or self._ballast is None or not self._ballast.exists():
                raise
            # The failure is still reported, so that nothing new starts; but this much is kept.
            self._ballast.unlink(missing_ok=True)
            self.database.transaction(work)
            self._full = str(failure)


def why_of(failure: StoreFailure) -> str:
    """Why a database failed; "" of another failure."""
    return failure.why if isinstance(failure, DatabaseFailure) else ""
