"""The one frame of all jobs of a server, in their thread: made ready, agreed to, begun, carried out, cancelled, ended.

A kind says what differs: how one is made ready, what it does, what came of it. Only the frame cancels, so that no kind can
forget it: a ticket that is cancelled stops its job in whichever state it is, and what has not begun leaves no row and no call.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, NoReturn, Protocol, TypeVar

from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_server.jobs.ticket import Ticket
from merrow_server.kept_work import request_cancel

Json = dict[str, Any]
Agree = Callable[[str], Awaitable[None]]
"""Is given a sentence about what something may cost, and raises where nobody agrees to it."""


class JobOrder(Protocol):
    """An order of any kind."""

    @property
    def ticket(self) -> Ticket: ...


_Order = TypeVar("_Order", bound=JobOrder)
_Told = TypeVar("_Told")
_Done = TypeVar("_Done")


class ReadyJob(Generic[_Done]):
    """A job that is ready to begin, with ``forecast``, what it may cost, and ``consent``, the sentence about that to which
    somebody has to agree first; None where nobody has to.
    """

    forecast: Json
    consent: str | None = None

    def begin(self) -> str | None:
        """Write down that it begins; its id in the journal, None where it has none. Raises `RunFailure`."""
        return None

    async def run(self) -> None:
        """Carry it out to its end, whatever that is. The frame cancels this. Raises `RunFailure`."""
        raise NotImplementedError

    def ended(self) -> _Done:
        """What came of it, also where it was cancelled. Raises `RunFailure` where that leaves nothing."""
        raise NotImplementedError

    async def close(self) -> None:
        """End what was opened for it."""


class Kind(Generic[_Order, _Told, _Done]):
    """What differs from kind to kind of job."""

    cancelled: ClassVar[str]
    """The sentence where one was cancelled before it began."""

    async def prepare(self, order: _Order, told: _Told) -> ReadyJob[_Done]:
        """Make one ready. Nothing is called, and everything that can be wrong is found. ``told`` hears how far it is, later.
        Raises `RunFailure`.
        """
        raise NotImplementedError

    def never_begun(self) -> _Done:
        """The answer to an order that was cancelled before it began. Raises `UsageFailure`, mostly."""
        self.refuse_cancelled()

    def refuse_cancelled(self) -> NoReturn:
        """Raises `UsageFailure`."""
        raise UsageFailure(self.cancelled)


class Desk:
    """The jobs that were ordered here and have not ended. All of it belongs to the thread of the jobs; ``store`` opens the
    user's journal.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._jobs: dict[Ticket, asyncio.Task[Any]] = {}

    @property
    def here(self) -> set[str]:
        """The ids of what is worked on here."""
        return {ticket.identity for ticket in self._jobs if ticket.identity is not None}

    async def forecast(self, kind: Kind[_Order, _Told, Any], order: _Order, told: _Told) -> Json:
        """What it may cost; nothing is called. Raises `RunFailure`."""
        work = await kind.prepare(order, told)
        try:
            return work.forecast
        finally:
            await work.close()

    async def carry_out(
        self, kind: Kind[_Order, _Told, _Done], order: _Order, told: _Told, agree: Agree | None = None
    ) -> _Done:
        """Work on what is ordered to its end, whatever that is; what came of it. Raises `RunFailure`, and what ``agree`` does."""
        ticket = order.ticket
        if ticket.is_cancelled:
            return kind.never_begun()
        task = asyncio.create_task(_worked(kind, order, told, agree))
        self._jobs[ticket] = task
        try:
            with ticket.stopped_by(task.cancel):
                await asyncio.wait([task])
        except asyncio.CancelledError:  # nobody waits for it any more
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            del self._jobs[ticket]
            ticket.identity = None
        if task.cancelled():
            return kind.never_begun()
        return task.result().ended()

    def cancel(self, prefix: str) -> str | None:
        """Cancel a job by its id or the beginning of it, whichever process works on it; its id, None where no process does.

        Raises `UsageFailure` where there is none of this id, or several; `StoreFailure`.
        """
        here = [ticket for ticket in self._jobs if ticket.identity is not None and ticket.identity.startswith(prefix)]
        if len(here) == 1:
            here[0].cancel()
            return here[0].identity
        asked = request_cancel(self._store(), prefix)
        return asked.id if asked.is_heard else None

    async def close(self) -> None:
        """Cancel what goes on, and wait for its end."""
        tasks = list(self._jobs.values())
        for ticket in self._jobs:
            ticket.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _worked(kind: Kind[_Order, _Told, _Done], order: _Order, told: _Told, agree: Agree | None) -> ReadyJob[_Done]:
    """A job from its order to its end. It is cancelled as a task: before it has begun that ends this, too."""
    work = await kind.prepare(order, told)
    try:
        if agree is not None and work.consent is not None:
            await agree(work.consent)
        if order.ticket.is_cancelled:  # the news of it is on its way to this thread
            raise asyncio.CancelledError
        order.ticket.identity = work.begin()
        with contextlib.suppress(asyncio.CancelledError):  # what came of it is what there is
            await work.run()
    finally:
        await work.close()
    return work
