"""What was ordered of models under a ticket: made ready, carried out or dropped; cancelled by the ticket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from merrow_runtime.errors import UsageFailure
from merrow_server.runs.ticket import Ticket

Json = dict[str, Any]


class Closes(Protocol):
    """What is ready and has something to close."""

    async def close(self) -> None: ...


_Ready = TypeVar("_Ready", bound=Closes)
_Done = TypeVar("_Done")


class Tickets(Generic[_Ready]):
    """What is ready or going on, by its tickets. All of it belongs to the thread of the runs."""

    cancelled: ClassVar[str]
    """The sentence where it was cancelled before it began."""

    def __init__(self) -> None:
        self._ready: dict[Ticket, _Ready] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def _make_ready(self, ticket: Ticket, making: Coroutine[Any, Any, tuple[_Ready, Json]]) -> Json:
        """Keep what ``making`` gives until it is carried out or dropped; what it says of that. Raises `UsageFailure` where it was
        cancelled before.
        """
        if ticket.is_cancelled:
            making.close()
            raise UsageFailure(self.cancelled)
        self._ready[ticket], said = await making
        return said

    async def drop(self, ticket: Ticket) -> None:
        """Nobody wants it."""
        found = self._ready.pop(ticket, None)
        if found is not None:
            await found.close()

    @asynccontextmanager
    async def _taken(self, ticket: Ticket) -> AsyncIterator[_Ready]:
        """What is ready, to be carried out; it is closed in the end. Raises `UsageFailure` where it was cancelled."""
        ready = self._ready.pop(ticket)
        try:
            if ticket.is_cancelled:
                raise UsageFailure(self.cancelled)
            yield ready
        finally:
            await ready.close()

    async def _finish(self, ticket: Ticket, work: Coroutine[Any, Any, _Done]) -> _Done | None:
        """What came of the work; None where it was cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        try:
            with ticket.stopped_by(task.cancel):
                await asyncio.wait([task])
        finally:
            self._tasks.discard(task)
        return None if task.cancelled() else task.result()

    async def close(self) -> None:
        """Cancel what goes on, and wait for its end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for ticket in list(self._ready):
            await self.drop(ticket)
