"""A job watched from the command line: worked on to its end, shown meanwhile, stopped by Ctrl-C, and its exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_server.cli import INTERRUPTED, NOT_WELL, OK
from merrow_server.cli.sessions.signals import cancelled_by_signals
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import echo, style


class Closeable(Protocol):
    """What is ready, and has something to close."""

    async def close(self) -> None: ...


class Worked(Protocol):
    """What has worked on it, and why it stopped before its end."""

    @property
    def stopped_by(self) -> str | None: ...


_Told = TypeVar("_Told")
_Done = TypeVar("_Done")
_Worked = TypeVar("_Worked", bound=Worked)


def tell_stopped(identity: str) -> None:
    """Say that a job stopped, and how it goes on."""
    echo(
        f"{style('Stopped', fg='yellow')} before its end; what is finished is kept."
        f" Continue it with: merrow resume {identity}",
        err=True,
    )


@contextmanager
def reporting(code: int) -> Iterator[None]:
    """Within it a report of a job that ended with ``code`` reads the journal. One that stopped since the journal is away has said
    so, and has no report.
    """
    try:
        yield
    except StoreFailure:
        if code != NOT_WELL:
            raise


async def worked(progress: AbstractContextManager[_Told], work: Callable[[_Told], Awaitable[_Done]]) -> _Done | None:
    """Have ``work`` done with its ``progress`` shown; what it gives, None where it was stopped.

    Ctrl-C, SIGTERM and SIGHUP stop it: calls in flight are cancelled, what is finished is kept.
    """
    try:
        with cancelled_by_signals(), progress as told:
            return await work(told)
    except asyncio.CancelledError:
        return None


async def watched(
    prepared: Closeable, progress: AbstractContextManager[_Told], work: Callable[[_Told], Awaitable[_Worked]]
) -> tuple[int, _Worked | None]:
    """The same with what was ``prepared`` closed at the end; the exit code so far, and what has worked on it. Why it ended early
    is said.
    """
    try:
        done = await worked(progress, work)
    finally:
        await prepared.close()
    if done is None:
        return INTERRUPTED, None
    if done.stopped_by is None:
        return OK, done
    complain(done.stopped_by)
    return NOT_WELL, done
