"""Signs of life of the runs that a process has from one journal: one transaction for all of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.lease import BEAT
from merrow_runtime.store.sql import PLACES, Database, in_parts

_STATE = f"SELECT run, holder, cancel, beat FROM holders WHERE run IN ({PLACES})"  # noqa: S608 (places for values)
_SIGN = f"UPDATE holders SET beat = ? WHERE run IN ({PLACES})"  # noqa: S608 (as above)

Lease = tuple[str | None, int, float]
"""The token of who has a run, whether it is to end, and the last sign of life, in seconds since 1970."""


class Held(Protocol):
    """A run that this process has."""

    run: str

    def look(self, lease: Lease | None, now: float) -> bool:
        """Take in how its lease is at the moment ``now``, None where it is gone; whether a sign of life is due."""
        ...


class Beating:
    """Shows that runs are alive, while there are any. ``attempt`` makes a transaction, while the event loop goes on, or raises
    `StoreFailure`.
    """

    def __init__(self, attempt: Callable[[Callable[[Database], None]], Awaitable[Any]]) -> None:
        self._attempt = attempt
        self._runs: dict[str, Held] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None

    def begin(self, held: Held) -> None:
        """Show from now on that a run is alive."""
        self._runs[held.run] = held
        if self._timer is None or self._loop is not asyncio.get_running_loop():
            self._wait()

    def end(self, held: Held) -> None:
        """Show it no more."""
        if self._runs.get(held.run) is held:
            del self._runs[held.run]
        if not self._runs and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        # A timer, not a task: most runs end before the first beat.
        if self._timer is not None:
            self._timer.cancel()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(BEAT / 4, self._begin_beat)

    def _begin_beat(self) -> None:
        self._beating = asyncio.ensure_future(self._beat())

    async def _beat(self) -> None:
        runs = dict(self._runs)  # others come and end meanwhile
        with contextlib.suppress(StoreFailure):  # The next write reports it, to a caller that can act on it.
            await self._attempt(lambda database: sign(database, runs))
        if self._runs:
            self._wait()


def sign(database: Database, runs: dict[str, Held]) -> None:
    """Show that runs are alive whose leases are still those of this process, inside a transaction."""
    now = database.now()
    for several in in_parts(list(runs)):
        leases = {run: lease for run, *lease in database.execute(_STATE, tuple(several)).fetchall()}
        due = [run for run in dict.fromkeys(several) if runs[run].look(_lease(leases.get(run)), now)]
        for part in in_parts(due):
            database.execute(_SIGN, (now, *part))


def _lease(row: list[Any] | None) -> Lease | None:
    return None if row is None else (row[0], row[1], row[2])
