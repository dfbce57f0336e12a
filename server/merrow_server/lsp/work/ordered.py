"""Evaluations and searches as an editor has them: ordered, agreed to, watched, cancelled."""

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
    from merrow_server.runs.orders import EvaluationOrder, SearchOrder
    from merrow_server.runs.session import Session

Json = dict[str, Any]
_Order = TypeVar("_Order", "EvaluationOrder", "SearchOrder")
_Asked = TypeVar("_Asked", contravariant=True)

Agree = Callable[[Json], Awaitable[None]]
"""Is given what something may cost, and raises where nobody agrees to it."""


class Room(Protocol[_Asked]):
    """Where the thread of the runs has them, such as `merrow_server.runs.evaluating.Evaluations`."""

    async def prepare(self, order: _Asked, /) -> Json: ...

    async def drop(self, ticket: Ticket, /) -> None: ...

    async def carry_out(self, ticket: Ticket, told: Callable[[Json], None], /) -> Json: ...


class Ordered(Generic[_Order]):
    """The evaluations, or the searches, of one server: ``what`` they are, and ``room``, where they are worked on.

    News of them go out in ``merrow/evaluationEvent`` or ``merrow/searchEvent``.
    """

    def __init__(
        self, server: Host, runs: Runs, what: Literal["evaluation", "search"], room: Callable[[Session], Room[_Order]]
    ) -> None:
        self._server = server
        self._runs = runs
        self._what = what
        self._room: Callable[[Session], Room[_Order]] = room

    async def forecast(self, order: _Order) -> Json:
        """What it may cost; nothing is called. Raises `FeatureError`."""
        ticket = order.ticket
        try:
            return await self._runs.have(lambda session: self._room(session).prepare(order))
        finally:
            await self._runs.have(lambda session: self._room(session).drop(ticket))

    async def carry_out(self, order: _Order, place: Place, title: str, agree: Agree) -> Json:
        """Work on it to the end, tell the client of it meanwhile; how it ended.

        It is cancelled with the request that it answers. Raises `FeatureError` with a sentence where it can't be begun.
        """
        runs, room, loop = self._runs, self._room, asyncio.get_running_loop()
        ticket = order.ticket
        live = LiveRun(ticket, place, what=self._what)
        progress = ShownProgress(self._server, title, ticket.cancel)

        def told(news: Json) -> None:
            with contextlib.suppress(RuntimeError):  # the editor's loop is closed
                loop.call_soon_threadsafe(self._tell, live, progress, news)

        async with runs.under_way(live, progress):
            forecast = await runs.have(lambda session: room(session).prepare(order))
            try:
                await agree(forecast)
            except BaseException:
                await runs.have(lambda session: room(session).drop(ticket))
                raise
            return await runs.have(lambda session: room(session).carry_out(ticket, told))

    def _tell(self, live: LiveRun, progress: ShownProgress, news: Json) -> None:
        live.run = news[self._what]
        place, done, total = live.place, news["done"], news["total"]
        event = f"merrow/{self._what}Event"
        self._server.protocol.send_plain(event, {"uri": place.uri, "diagram": place.number, **news})
        of = f"{done:,} of {total:,}" if total else f"{done:,}"
        progress.report(f"{of} answers, {news['text']}", min(done, total), total)
