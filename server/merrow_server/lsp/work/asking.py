"""What an editor has models do in one go, such as suggestions and plans: ordered, agreed to, with progress, cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from merrow_server.lsp.host import Host
from merrow_server.lsp.work.run_progress import ShownProgress
from merrow_server.lsp.work.runs import LiveRun, Place, Runs
from merrow_server.runs.ticket import Ticket

if TYPE_CHECKING:
    from merrow_server.runs.orders import PlanOrder, SuggestionOrder
    from merrow_server.runs.session import Session

Json = dict[str, Any]
Told = Callable[[str, int, int], None]
Agree = Callable[[Json], Awaitable[None]]
"""Is given what something may cost, and raises where nobody agrees to it."""
_Order = TypeVar("_Order", "PlanOrder", "SuggestionOrder")
_Asked = TypeVar("_Asked", contravariant=True)
_Answer = TypeVar("_Answer")
_Gives = TypeVar("_Gives", covariant=True)


class Room(Protocol[_Asked, _Gives]):
    """Where the thread of the runs has them, such as `merrow_server.runs.suggesting.Suggestions`."""

    async def prepare(self, order: _Asked, told: Told, /) -> Json: ...

    async def drop(self, ticket: Ticket, /) -> None: ...

    async def carry_out(self, ticket: Ticket, /) -> _Gives: ...


class Asking(Generic[_Order, _Answer]):
    """Orders of one kind of one server: ``what`` they are, and ``room``, where they are worked on."""

    def __init__(
        self,
        server: Host,
        runs: Runs,
        what: Literal["plan", "suggestion"],
        room: Callable[[Session], Room[_Order, _Answer]],
    ) -> None:
        self._server, self._runs, self._what = server, runs, what
        self._room: Callable[[Session], Room[_Order, _Answer]] = room

    async def forecast(self, order: _Order) -> Json:
        """What it may cost; no model is asked. Raises `FeatureError`."""
        ticket = order.ticket
        try:
            return await self._runs.have(lambda session: self._room(session).prepare(order, _silent))
        finally:
            await self._runs.have(lambda session: self._room(session).drop(ticket))

    async def carry_out(self, order: _Order, place: Place, title: str, agree: Agree) -> _Answer:
        """Ask the models, with progress that can be cancelled; their answer.

        It is cancelled with the request that it answers. Raises `FeatureError` with a sentence.
        """
        runs, room, loop = self._runs, self._room, asyncio.get_running_loop()
        ticket = order.ticket
        progress = ShownProgress(self._server, title, ticket.cancel)

        def told(what: str, done: int, most: int) -> None:
            with contextlib.suppress(RuntimeError):  # the editor's loop is closed
                loop.call_soon_threadsafe(progress.report, what, done, most)

        async with runs.under_way(LiveRun(ticket, place, what=self._what), progress):
            forecast = await runs.have(lambda session: room(session).prepare(order, told))
            try:
                await agree(forecast)
            except BaseException:
                await runs.have(lambda session: room(session).drop(ticket))
                raise
            return await runs.have(lambda session: room(session).carry_out(ticket))


def _silent(what: str, done: int, most: int) -> None:
    """Nobody is told."""
