"""Progress of work that takes long, shown by the client, which may cancel it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from merrow_server.lsp.server import MerrowServer

log = logging.getLogger(__name__)


class Progress:
    """Progress towards ``total`` steps; without a token nobody is shown any."""

    def __init__(self, server: MerrowServer, token: types.ProgressToken | None, total: int) -> None:
        self._server = server
        self._token = token
        self._total = total
        self._shown = -1

    async def step(self, done: int, message: str) -> None:
        """``done`` steps are made: tell it, let other messages be handled, and end here if the user cancelled."""
        percentage = 100 * done // max(self._total, 1)
        if self._token is not None and percentage != self._shown:
            self._shown = percentage
            self._send(types.WorkDoneProgressReport(message=message, percentage=percentage, cancellable=True))
        await asyncio.sleep(0)
        if self._token is not None:
            cancelled = self._server.work_done_progress.tokens.get(self._token)
            if cancelled is not None and cancelled.cancelled():
                raise asyncio.CancelledError

    def _send(self, value: Any) -> None:
        self._server.protocol.notify(types.PROGRESS, types.ProgressParams(self._token or "", value))


@asynccontextmanager
async def progress(
    server: MerrowServer, title: str, total: int, token: types.ProgressToken | None = None, *, ask: bool = False
) -> AsyncIterator[Progress]:
    """Show progress under the client's ``token``, or, with ``ask``, under a new one if the client can show any."""
    if token is None and ask and server.supports.progress:
        token = str(uuid.uuid4())
        try:
            await server.work_done_progress.create_async(token)
        except Exception:
            log.exception("The client shows no progress.")
            token = None
    shown = Progress(server, token, total)
    if token is None:
        yield shown
        return
    server.work_done_progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=True, percentage=0))
    try:
        yield shown
    finally:
        server.work_done_progress.end(token, types.WorkDoneProgressEnd())
        server.work_done_progress.tokens.pop(token, None)
