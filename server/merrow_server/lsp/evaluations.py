"""Evaluations as an editor has them: ordered, agreed to, watched, cancelled. The thread of the runs works on them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from merrow_server.lsp.execution import EXECUTION
from merrow_server.lsp.host import Host
from merrow_server.lsp.run_progress import ShownProgress
from merrow_server.lsp.runs import LiveRun, Place, Runs

if TYPE_CHECKING:
    from merrow_server.runs.orders import EvaluationOrder

Json = dict[str, Any]

EVALUATION_EVENT = "merrow/evaluationEvent"
Agree = Callable[[Json], Awaitable[None]]
"""Is given what an evaluation may cost, and raises where nobody agrees to it."""


class Evaluations:
    """The evaluations of one server."""

    def __init__(self, server: Host, runs: Runs) -> None:
        self._server = server
        self._runs = runs

    async def forecast(self, order: EvaluationOrder) -> Json:
        """What an evaluation may cost; nothing is called. Raises `FeatureError`."""
        ticket = self._runs.ticket()
        try:
            return await self._runs.have(lambda session: session.evaluations.prepare(replace(order, ticket=ticket)))
        finally:
            await self._runs.have(lambda session: session.evaluations.drop(ticket))

    async def carry_out(self, order: EvaluationOrder, place: Place, title: str, agree: Agree) -> Json:
        """Evaluate to the end, tell the client of it meanwhile; how it ended.

        It is cancelled with the request that it answers. Raises `FeatureError` with a sentence where it can't be begun.
        """
        runs, loop = self._runs, asyncio.get_running_loop()
        order = replace(order, ticket=runs.ticket())
        ticket = order.ticket
        live = runs.live[ticket] = LiveRun(ticket, place, evaluates=True)
        progress = ShownProgress(self._server, title, lambda: runs.cancel(ticket))

        def told(news: Json) -> None:
            with contextlib.suppress(RuntimeError):  # the editor's loop is closed
                loop.call_soon_threadsafe(self._tell, live, progress, news)

        try:
            await progress.begin()
            EXECUTION.get().on_cancel(lambda: runs.cancel(ticket))
            forecast = await runs.have(lambda session: session.evaluations.prepare(order))
            try:
                await agree(forecast)
            except BaseException:
                await runs.have(lambda session: session.evaluations.drop(ticket))
                raise
            return await runs.have(lambda session: session.evaluations.carry_out(ticket, told))
        finally:
            runs.live.pop(ticket, None)
            progress.end()

    def _tell(self, live: LiveRun, progress: ShownProgress, news: Json) -> None:
        live.run = news["evaluation"]
        place, done, total = live.place, news["done"], news["total"]
        self._server.protocol.send_plain(EVALUATION_EVENT, {"uri": place.uri, "diagram": place.number, **news})
        progress.report(f"{done:,} of {total:,} answers, {news['text']}", done, total)
