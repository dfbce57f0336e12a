"""What calls cost, in the database of a journal that several share: one sum, one limit, whoever spends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_runtime.spending.ledger import BEGIN, Ledger, day_of
from merrow_runtime.spending.permits import LIFE
from merrow_runtime.store.address import StoreAddress
from merrow_runtime.store.names import new_number
from merrow_runtime.store.postgres.opening import connect
from merrow_runtime.store.sql import AWAY, Database, DatabaseFailure
from merrow_runtime.usage import Usage

T = TypeVar("T")
_RECENT = 60.0
"""Seconds for which what a month has cost is good enough to begin a run."""


class SharedLedger(Ledger):
    """The `Ledger` of all who share a journal. Days and minutes are those of the server's clock.

    A thread waits for the server, so that the event loop never does.
    """

    _late = LIFE

    def __init__(self, address: StoreAddress) -> None:
        """Raises `StoreFailure` where the database can't be reached."""
        self._database = connect(address, lasts=False)
        self._database.waits = AWAY
        self._process = os.getpid()
        self._thread = ThreadPoolExecutor(1, "merrow-limits")
        self._begin_empty(self._database.now)
        self._database.now()

    def is_at_its_path(self) -> bool:
        """Whether it is that of this process: a fork can't use the connection of the one that it comes from."""
        return self._process == os.getpid()

    async def off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def begin(self, workflow: str, origin: str, model: str, usage: Usage) -> int:
        """See `Ledger.begin`: what was counted so far is written by itself. The number is given here: where the connection is
        lost, the statement may be made again.
        """
        number = new_number()
        values = number, *self._begun_values(workflow, origin, model, usage)
        with self._at_work:
            try:
                row = self._database.changed(BEGIN, values).fetchone()
            except DatabaseFailure as problem:
                raise self._failure(problem) from problem
        return self._has_begun(origin, model, usage, row or (number, None))

    def month_at_start(self) -> float:
        """See `Ledger.month_at_start`: runs of an evaluation begin one after another, and don't wait for the server each time."""
        is_recent = time.monotonic() - self._month_read < _RECENT and self._month[0] == day_of(self._at())[:7]
        return self.known_of_month() if is_recent else self.of_month()

    def flush_soon(self) -> None:
        self._flushed = time.monotonic()
        with contextlib.suppress(RuntimeError):  # the program ends
            self._thread.submit(self._flush_quietly)

    def _flush_quietly(self) -> None:
        with contextlib.suppress(StoreFailure):  # the next one writes it
            self.flush()

    def _at(self) -> float:
        return float(self._database.known_now())

    def _transaction(self, work: Callable[[Database], T], *, is_alone: bool = False) -> T:
        def after_others(database: Database) -> T:
            # One after the other: many that read and write the calls of the last minute at once would be in each other's way.
            database.execute(
                "SELECT pg_advisory_xact_lock(hashtext(?))", (f"merrow pace {self._database.address.schema}",)
            )
            return work(database)

        try:
            result: T = self._database.transaction(after_others if is_alone else work, is_alone=False)
        except DatabaseFailure as problem:
            raise self._failure(problem) from problem
        return result

    def _failure(self, problem: DatabaseFailure) -> StoreFailure:
        return StoreFailure(f"What calls cost can't be kept. {problem}")

    def __del__(self) -> None:
        thread = getattr(self, "_thread", None)
        if thread is not None and self._process == os.getpid():
            thread.shutdown()
        super().__del__()
