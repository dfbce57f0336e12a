"""What was ordered of models under a ticket: made ready, carried out or dropped, cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from merrow_runtime.errors import UsageFailure

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
        self._ready: dict[int, _Ready] = {}
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._open: set[int] = set()
        self._cancelled: set[int] = set()

    async def _make_ready(self, ticket: int, making: Coroutine[Any, Any, tuple[_Ready, Json]]) -> Json:
        """Keep what ``making`` gives until it is carried out or dropped; what it says of that."""
        self._open.add(ticket)
        try:
            self._ready[ticket], said = await making
        except BaseException:
            self._forget(ticket)
            raise
        return said

    async def drop(self, ticket: int) -> None:
        """Nobody wants it."""
        self._forget(ticket)
        found = self._ready.pop(ticket, None)
        if found is not None:
            await found.close()

    @asynccontextmanager
    async def _taken(self, ticket: int) -> AsyncIterator[_Ready]:
        """What is ready, to be carried out; it is closed in the end. Raises `UsageFailure` where it was cancelled."""
        ready = self._ready.pop(ticket)
        try:
            if ticket in self._cancelled:
                raise UsageFailure(self.cancelled)
            yield ready
        finally:
            self._forget(ticket)
            await ready.close()

    async def _finish(self, ticket: int, work: Coroutine[Any, Any, _Done]) -> _Done | None:
        """What came of the work; None where it was cancelled."""
        self._tasks[ticket] = task = asyncio.create_task(work)
        try:
            await asyncio.wait([task])
        finally:
            del self._tasks[ticket]
        return None if task.cancelled() else task.result()

    def cancel(self, ticket: int) -> bool:
        """Cancel what has this number, begun or not; whether there is anything."""
        if ticket in self._tasks:
            self._tasks[ticket].cancel()
        elif ticket in self._open:
            self._cancelled.add(ticket)
        return ticket in self._open

    async def close(self) -> None:
        """Cancel what goes on, and wait for its end."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for ticket in list(self._ready):
            await self.drop(ticket)

    def _forget(self, ticket: int) -> None:
        self._open.discard(ticket)
        self._cancelled.discard(ticket)
