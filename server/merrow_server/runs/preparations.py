"""What was ordered of models at once, such as suggestions or plans: made ready, carried out or dropped, cancelled by ticket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from merrow_runtime.errors import UsageFailure


class Closes(Protocol):
    """What is ready and has something to close."""

    async def close(self) -> None: ...


_Ready = TypeVar("_Ready", bound=Closes)
_Done = TypeVar("_Done")


class Preparations(Generic[_Ready]):
    """What is ready or under way, by its ticket. All of it belongs to the thread of the runs.

    ``what`` is a word for messages, such as suggestions.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._ready: dict[int, _Ready] = {}
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._open: set[int] = set()
        self._cancelled: set[int] = set()

    async def make_ready(self, ticket: int, making: Coroutine[Any, Any, _Ready]) -> _Ready:
        """Keep what ``making`` gives until it is carried out or dropped."""
        self._open.add(ticket)
        try:
            self._ready[ticket] = await making
        except BaseException:
            self._forget(ticket)
            raise
        return self._ready[ticket]

    async def drop(self, ticket: int) -> None:
        """Nobody wants it."""
        self._forget(ticket)
        found = self._ready.pop(ticket, None)
        if found is not None:
            await found.close()

    async def carry_out(
        self, ticket: int, work: Callable[[_Ready], Coroutine[Any, Any, _Done]], used: Callable[[], str] = str
    ) -> _Done:
        """What ``work`` makes of it, which ends with it. Raises `UsageFailure` where it was cancelled, with the sentence of what
        was ``used`` until then.
        """
        ready = self._ready.pop(ticket)
        try:
            if ticket in self._cancelled:
                raise self._gone()
            self._tasks[ticket] = task = asyncio.create_task(work(ready))
            try:
                await asyncio.wait([task])
            finally:
                del self._tasks[ticket]
            if task.cancelled():
                raise self._gone(used())
            return task.result()
        finally:
            self._forget(ticket)
            await ready.close()

    def cancel(self, ticket: int) -> bool:
        """Cancel what has this number, begun or not; whether there is anything."""
        if ticket in self._tasks:
            self._tasks[ticket].cancel()
        elif ticket in self._open:
            self._cancelled.add(ticket)
        return ticket in self._open

    async def close(self) -> None:
        """Cancel what is under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for ticket in list(self._ready):
            await self.drop(ticket)

    def _forget(self, ticket: int) -> None:
        self._open.discard(ticket)
        self._cancelled.discard(ticket)

    def _gone(self, used: str = "") -> UsageFailure:
        said = f"The {self._what} were cancelled; answers that came are kept and not paid again."
        return UsageFailure(f"{said} {used}".rstrip())
