"""The server of pages: begun on a port of this machine, and ended with all that looks at it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from merrow_server.service.listening import configured, listening, quiet
from merrow_server.viewing.http import ServedPages, application

_LAST_SECONDS = 1


class PageServer(uvicorn.Server):
    """Serves `ServedPages` at ``origin``, below ``root``, which is the token. ``ends_on_signals``: Ctrl-C and SIGTERM end it."""

    def __init__(self, shown: ServedPages, port: int, *, ends_on_signals: bool) -> None:
        """Raises `InputError` where the port can't be used."""
        quiet("uvicorn", "asyncio") if ends_on_signals else quiet("uvicorn")
        token = secrets.token_urlsafe(32)
        super().__init__(configured(application(shown, token), _LAST_SECONDS))
        self._listener = listening(port)
        self._shown, self._takes_signals = shown, ends_on_signals
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.root = f"/{token}"
        self.ended_by = 0

    async def run_to_end(self) -> None:
        """Serve until a signal, `end`, or until this is cancelled."""
        try:
            await self.serve(sockets=[self._listener])
        finally:
            self._shown.over.set()
            self._listener.close()

    def end(self) -> None:
        """Serve nobody any more; streams end at once. Called in the event loop."""
        self._shown.over.set()
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The signals of a process that has other work are not this server's."""
        if self._takes_signals:
            with super().capture_signals():
                yield
        else:
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal arrived."""
        del frame
        if self.ended_by:  # one more ends the process, whatever it does
            signal.signal(sig, signal.SIG_DFL)
        self.ended_by = sig
        asyncio.get_running_loop().call_soon_threadsafe(self.end)


def serve(begin: Callable[[ServedPages, PageServer], None], port: int) -> int:
    """Serve on a port until a signal ends it; the number of that. ``begin`` is called in the event loop, once pages can be asked
    for. Raises `InputError` where the port can't be used.
    """

    async def served() -> int:
        shown = ServedPages()
        server = PageServer(shown, port, ends_on_signals=True)
        begin(shown, server)
        await server.run_to_end()
        return server.ended_by

    return asyncio.run(served())
