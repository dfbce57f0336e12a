"""Writes to a server: what is ready together is committed together by a thread, and the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store import sql
from merrow_runtime.store.postgres.connection import PostgresConnection
from merrow_runtime.store.sql import PATIENCE, DatabaseFailure
from merrow_runtime.store.writer import PendingWrite, Writer

T = TypeVar("T")


class PostgresWriter(Writer):
    """`Writer` with a connection of its own for what is queued, which a thread commits, and which does what is not to be waited
    for (`off_loop`); ``database`` is the one of the event loop, for all else that is read and for what is done `now`.
    """

    database: PostgresConnection

    def __init__(self, database: PostgresConnection, *, lasts: bool = True) -> None:
        super().__init__(database, None)
        self._lasts = lasts
        self._background: PostgresConnection | None = None
        self._thread = ThreadPoolExecutor(1, "merrow-journal")
        self._is_closed = False
        self._flight: tuple[list[PendingWrite], Future[dict[str, int]]] | None = None

    def begin_reading(self) -> None:
        """Each statement reads what is committed: nothing is gained by reading several in one transaction."""

    def flush(self, patience: float = PATIENCE) -> None:
        """Commit what waits; with ``patience`` wait for that so many seconds at most. Never raises: what waits gets the
        failure.
        """
        if not patience:
            self._flush_in_turn()
            return
        end = time.monotonic() + patience
        while self._flight is not None or self._waiting:
            if self._flight is None:
                self._send()
            if self._flight is None:
                return
            future = self._flight[1]
            if not wait([future], max(0.0, end - time.monotonic())).done:
                return
            if not self._land(future):
                return

    async def off_loop(self, work: Callable[[Writer], T]) -> T:
        """See `Writer.off_loop`: the thread does it, with its own connection."""
        if self._is_closed:  # a sign of life of a run, say, that was not over when it was
            raise StoreFailure("The journal of runs is closed.")
        if self._flight is None and self._waiting:
            self._send()
        return await asyncio.wrap_future(self._thread.submit(self._done_by_thread, work))

    async def until_there(self) -> None:
        await self.off_loop(lambda writer: writer.database.execute("SELECT 1"))

    def close(self) -> None:
        """Write what waits, as far as the server is there, and close the connections."""
        self.flush()
        if self._background is not None:
            self._background.closing = True
        self._is_closed = True
        self._thread.shutdown()
        if self._background is not None:
            self._background.close()
        self.database.close()

    def _flush_in_turn(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._flight is None and self._waiting:
            self._send()

    def _send(self) -> None:
        """Give what waits to the thread."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_closed:  # what could not be written when it was is given up
            self._waiting.clear()
            return
        self._timer, self._urgent = None, False
        waiting, self._waiting = self._waiting, []
        future = self._thread.submit(self._committed_by_thread, waiting)
        self._flight = waiting, future
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # who sends it waits for it
        future.add_done_callback(lambda done: _call(loop, self._landed, done))

    def _opened_by_thread(self) -> PostgresConnection:
        if self._background is None:
            background = PostgresConnection(
                self.database.address, self.database.job, lasts=self._lasts, waits=sql.AWAY, is_open=False
            )
            background.refused, background.returned = self.database.refused, self.database.returned
            self._background = background
        if not self._background.is_open:
            self._background.reconnect(time.monotonic() + self._background.wait())
        return self._background

    def _done_by_thread(self, work: Callable[[Writer], T]) -> T:
        return work(Writer(self._opened_by_thread(), None))

    def _committed_by_thread(self, waiting: Sequence[PendingWrite]) -> dict[str, int]:
        background = self._opened_by_thread()
        end = time.monotonic() + background.wait()
        kinds: dict[str, list[Sequence[Any]]] = {}
        for pending in waiting:
            kinds.setdefault(pending.statement[0], []).append(pending.statement[1])
        lasts = self._lasts and any(pending.lasts for pending in waiting)
        return background.commit(kinds, lasts=lasts, end=end)

    def _landed(self, future: Future[dict[str, int]]) -> None:
        if self._land(future) and self._flight is None and self._waiting and (self._urgent or self._timer is None):
            self._send()

    def _land(self, future: Future[dict[str, int]]) -> bool:
        """Tell those who wait what became of a commit; whether what waits may be sent now."""
        if self._flight is None or self._flight[1] is not future:
            return True  # it was told before
        (waiting, _), self._flight = self._flight, None
        problem: StoreFailure | None = None
        written: dict[str, int] = {}
        may_go_on = True
        try:
            written = future.result()
            self._committed = time.monotonic()
        except DatabaseFailure as failure:
            problem = failure
            if failure.why in ("full", "away"):
                # Nothing is given up: it is tried again with the next write.
                came, self._waiting = self._waiting, [pending._replace(done=None) for pending in waiting]
                if failure.why == "full" and any(pending.done is not None for pending in came):
                    # That is one that came meanwhile, when there may have been room again.
                    self._waiting += came
                else:
                    # What came while a server was away has waited as well, and no other commit is on its way that would tell it.
                    waiting += came
                    self._waiting += [pending._replace(done=None) for pending in came]
                    self._urgent = may_go_on = False
        except Exception as fault:  # noqa: BLE001 (a fault in Merrow: what waits must get it, or would wait forever)
            problem = StoreFailure(f"The journal of runs failed: {type(fault).__name__}: {fault}.")
            problem.__cause__ = fault
        counts: dict[str, int] = {}
        for pending in waiting:
            counts[pending.statement[0]] = counts.get(pending.statement[0], 0) + 1
        for pending in waiting:
            if pending.done is None or pending.done.done():
                continue
            if problem is None:
                sql = pending.statement[0]
                pending.done.set_result(written.get(sql, counts[sql]) >= counts[sql])
            else:
                pending.done.set_exception(problem)
                pending.done.exception()  # the next write tells it too: who is gone by now needs no traceback
        return may_go_on


def _call(loop: asyncio.AbstractEventLoop, landed: Any, done: Future[dict[str, int]]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(landed, done)
