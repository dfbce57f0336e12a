"""A job watched from the command line: worked on to its end, shown meanwhile, stopped by Ctrl-C, and its exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from merrow_server.cli import INTERRUPTED, NOT_WELL, OK
from merrow_server.cli.output import complain
from merrow_server.cli.sessions.signals import cancelled_by_signals


class Closeable(Protocol):
    """What is ready, and has something to close."""

    async def close(self) -> None: ...


class Worked(Protocol):
    """What has worked on it, and why it stopped before its end."""

    @property
    def stopped_by(self) -> str | None: ...


_Told = TypeVar("_Told")
_Worked = TypeVar("_Worked", bound=Worked)


async def watched(
    prepared: Closeable, progress: AbstractContextManager[_Told], work: Callable[[_Told], Awaitable[_Worked]]
) -> tuple[int, _Worked | None]:
    """Have ``work`` done with its ``progress`` shown, and close what was prepared for it; the exit code so far, and what has
    worked on it, None where it was stopped. Why it ended early is said.

    Ctrl-C, SIGTERM and SIGHUP stop it: calls in flight are cancelled, what is finished is kept.
    """
    try:
        with cancelled_by_signals(), progress as told:
            done = await work(told)
    except asyncio.CancelledError:
        return INTERRUPTED, None
    finally:
        await prepared.close()
    if done.stopped_by is None:
        return OK, done
    complain(done.stopped_by)
    return NOT_WELL, done
