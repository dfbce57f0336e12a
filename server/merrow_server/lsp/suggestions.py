"""Suggestions as an editor has them: ordered, agreed to, kept until one is applied. The thread of the runs asks for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lsprotocol import types

from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.execution import EXECUTION
from merrow_server.lsp.host import Host
from merrow_server.lsp.run_progress import ShownProgress
from merrow_server.lsp.runs import LiveRun, Place, Runs

if TYPE_CHECKING:
    from merrow_optimizer.mutations.base import Difference
    from merrow_server.runs.orders import SuggestionOrder

Json = dict[str, Any]
Agree = Callable[[Json], Awaitable[None]]
"""Is given what suggestions may cost, and raises where nobody agrees to it."""
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Kept:
    """A suggestion that can be applied: to which version of which document, and what it changes there."""

    uri: str
    version: int | None
    title: str
    effect: str
    edits: tuple[types.TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Last:
    """How many suggestions a text had, and what ``merrow.suggest`` was asked for them: asked again, it costs nothing."""

    text: str
    count: int
    asked: Json


class Suggestions:
    """The suggestions of one server."""

    def __init__(self, server: Host, runs: Runs) -> None:
        self._server, self._runs = server, runs
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._last: WeakKeyDictionary[OpenDiagram, Last] = WeakKeyDictionary()

    def remember(self, diagram: OpenDiagram, last: Last) -> None:
        """What was suggested for a diagram, for its lens."""
        self._last[diagram] = last
        if self._server.supports.refresh_code_lenses:
            self._server.protocol.send_request(types.WORKSPACE_CODE_LENS_REFRESH)

    def last(self, diagram: OpenDiagram) -> Last | None:
        """What was suggested last for a diagram as it is."""
        last = self._last.get(diagram)
        return last if last is not None and last.text == diagram.text else None

    def keep(self, name: str, suggestion: Kept) -> None:
        """Keep one until others have come."""
        self._kept.pop(name, None)
        self._kept[name] = suggestion
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def kept(self, name: str) -> Kept | None:
        """The suggestion with an id."""
        return self._kept.get(name)

    async def forecast(self, order: SuggestionOrder) -> Json:
        """What suggestions may cost; no model is asked. Raises `FeatureError`."""
        ticket = self._runs.ticket()
        order = replace(order, ticket=ticket)
        try:
            return await self._runs.have(lambda session: session.suggestions.prepare(order, _silent))
        finally:
            await self._runs.have(lambda session: session.suggestions.drop(ticket))

    async def carry_out(
        self, order: SuggestionOrder, place: Place, title: str, agree: Agree
    ) -> tuple[Json, list[Difference]]:
        """Ask for suggestions, with progress that can be cancelled; the report and the differences of the graphs.

        It is cancelled with the request that it answers. Raises `FeatureError` with a sentence.
        """
        runs, loop = self._runs, asyncio.get_running_loop()
        order = replace(order, ticket=runs.ticket())
        ticket = order.ticket
        runs.live[ticket] = LiveRun(ticket, place)
        progress = ShownProgress(self._server, title, lambda: runs.cancel(ticket))

        def told(what: str, done: int, most: int) -> None:
            with contextlib.suppress(RuntimeError):  # the editor's loop is closed
                loop.call_soon_threadsafe(progress.report, what, done, most)

        try:
            await progress.begin()
            EXECUTION.get().on_cancel(lambda: runs.cancel(ticket))
            forecast = await runs.have(lambda session: session.suggestions.prepare(order, told))
            try:
                await agree(forecast)
            except BaseException:
                await runs.have(lambda session: session.suggestions.drop(ticket))
                raise
            return await runs.have(lambda session: session.suggestions.carry_out(ticket))
        finally:
            runs.live.pop(ticket, None)
            progress.end()


def _silent(what: str, done: int, most: int) -> None:
    """Nobody is told."""
