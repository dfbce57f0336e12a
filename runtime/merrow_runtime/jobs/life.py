"""The life of a job in the user's store: carried out by one process at a time, cancelled from any, ended, and looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from typing import Any, Literal, Protocol, TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.store.database import Store
from merrow_runtime.store.lease import BEAT, STALE, WorkersLeft
from merrow_runtime.store.listed import Listed, ListedStatus, PlannedRecord

_LOOK = 0.5
"""Seconds between two looks at whether it was cancelled."""

State = Literal[ListedStatus, "interrupted"]


class JobRow(PlannedRecord, Protocol):
    """A row of a job, as far as its life goes."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> ListedStatus: ...
    @property
    def started(self) -> float: ...
    @property
    def ended(self) -> float | None: ...


class Job(Protocol):
    """Does the work; ``stopped_by`` says why it stopped before its end."""

    stopped_by: str | None


J = TypeVar("J", bound=Job)


async def carry_out(
    user: Store,
    kept: Listed[Any],
    identity: str,
    make: Callable[[Store], J],
    run: Callable[[J], Coroutine[Any, Any, None]],
    *,
    has_runs: bool = True,
    spread: bool = False,
) -> J:
    """Make and run the job of one of ``kept``, with a journal of its own, and keep how it ended. Cancelling ends it: what is
    finished is kept. The journal of one that ``has_runs`` not goes with its end: nothing is in it but who works on the job.
    Where the work is ``spread``, other processes have the journal open beside this one.

    Raises `StoreFailure` where it can't begin since another process works on it, or where another one has taken it over.
    """
    try:
        own = await _of_job(user, identity, spread=spread)
    except StoreFailure as problem:
        raise StoreFailure(f"{kept.word.capitalize()} {identity} can't continue. {problem}") from None
    with closing(own):
        watch = _Watch(kept, identity, own)
        job = make(own)
        kept.update(identity, "running")
        watching = asyncio.ensure_future(watch.keep())
        try:
            try:
                await run(job)
            finally:
                watching.cancel()  # before it could take what is written of its end for another's doing
        except asyncio.CancelledError:
            try:
                await watch.end("cancelled")
            except StoreFailure as problem:
                if watch.is_taken_over:
                    raise
                raise StoreFailure(f"{problem} What it has is kept; continue with: merrow resume {identity}") from None
            raise
        except StoreFailure as problem:
            job.stopped_by = str(problem)
            # A disk that is full may have room for this, which is little; where it has not, the process is over for others, too.
            try:
                await watch.end("stopped", job.stopped_by)
            except StoreFailure:
                if watch.is_taken_over:
                    raise
            return job
        await watch.end("finished" if job.stopped_by is None else "stopped", job.stopped_by)
    if not has_runs and job.stopped_by is None:
        user.remove_journal(identity)
    return job


async def _of_job(user: Store, identity: str, *, spread: bool) -> Store:
    """The journal of a job for the process that leads the work; workers that are left of an earlier one are waited for where it
    is not ``spread``. Raises `StoreFailure`.
    """
    clock = Clock(STALE)
    while True:
        try:
            return user.of_job(identity, alone=True, spread=spread)
        except WorkersLeft:
            if not clock.left:
                raise
            await asyncio.sleep(_LOOK)


class _Watch:
    """Watches over a job at work: ends it once somebody wrote down that it is cancelled, or deleted it; shows that its process is
    alive; and keeps how long it has taken, so that a process that dies takes no more than the last seconds with it.
    """

    def __init__(self, kept: Listed[Any], identity: str, own: Store) -> None:
        self.is_taken_over = False
        self._kept, self._identity, self._own = kept, identity, own
        self._clock, self._counted = Clock(), 0.0
        working = asyncio.current_task()
        assert working is not None  # noqa: S101 (it is made by a coroutine of a task)
        self._working = working

    async def keep(self) -> None:
        """Watch until the job has ended."""
        while True:
            await asyncio.sleep(_LOOK)
            with suppress(StoreFailure):  # the next write reports it, to a caller that can act on it
                if await self._kept.off_loop(lambda kept: kept.status(self._identity)) != "running":
                    # Of a process that was frozen, another one may have ended it meanwhile.
                    self.is_taken_over = not await self._own.beat()
                    self._working.cancel()
                    return
                if self._clock.here - self._counted >= BEAT and not await self._beat():
                    self.is_taken_over = True
                    self._working.cancel()
                    return

    async def _beat(self) -> bool:
        """Show that the process is alive, and keep its time; False where another one has taken the job over."""
        if not await self._own.beat():
            return False
        self._kept.add_seconds(self._identity, self._passed()).add_done_callback(_ignore_failure)
        return True

    async def end(self, status: ListedStatus, why: str | None = None) -> None:
        """Keep how it ended. Raises `StoreFailure`, also where another process has taken it over: then that one says how."""
        with suppress(StoreFailure):  # what follows reports it
            self.is_taken_over = self.is_taken_over or not await self._own.beat()
        if self.is_taken_over:
            raise StoreFailure(
                f"{self._kept.word.capitalize()} {self._identity} was taken over by another process, since this one gave no sign"
                " of life."
            )
        passed = self._passed()
        await self._kept.off_loop(lambda kept: kept.update(self._identity, status, why, time.time(), passed))

    def _passed(self) -> float:
        """The seconds since this was asked last."""
        before, self._counted = self._counted, self._clock.here
        return self._counted - before


def _ignore_failure(written: asyncio.Future[Any]) -> None:
    """That it failed is told by the next write, to a caller that can act on it."""
    if not written.cancelled():
        written.exception()


def delete(user: Store, kept: Listed[Any], prefix: str) -> None:
    """Delete one of ``kept`` with all that it has come by and the journal of its runs. Raises `StoreFailure` while a process
    works on it.
    """
    identity = kept.id_of(prefix)
    if is_open(user, identity):
        raise StoreFailure(
            f"{kept.word.capitalize()} {identity} is still going on; stop it first with: merrow cancel {identity}"
        )
    kept.delete(identity)
    user.remove_journal(identity)


def is_open(user: Store, identity: str) -> bool:
    """Whether a living process works on a job."""
    with user.looking_into(identity) as own:
        return own is not None and own.is_open_elsewhere


def last_seen(user: Store, record: JobRow) -> float:
    """When a job was last known to be worked on, in seconds since 1970."""
    if record.ended is not None:
        return record.ended
    with user.looking_into(record.id) as own:
        return max(record.started, 0.0 if own is None else own.last_seen() or 0.0)


def state_of(user: Store, record: JobRow) -> State:
    """How it is now: one that no living process works on is not running, whatever was written down last."""
    if record.status != "running":
        return record.status
    return "running" if is_open(user, record.id) else "interrupted"
