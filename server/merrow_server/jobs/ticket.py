"""What work that was ordered is cancelled by, from before it is made ready to its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Ticket:
    """Of one order: made with it, before anything is waited for. Once it is cancelled it stays so, in whichever state the work
    is: what has not begun does not begin, and what goes on is stopped. Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._stop: Callable[[], None] | None = None
        self.identity: str | None = None
        """The id in the journal of what was ordered, from its beginning on; None for what has none."""

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the work; nothing where that was done before."""
        with self._lock:
            if self._cancelled:
                return
            self._cancelled = True
            stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopped_by(self, stop: Callable[[], object]) -> Iterator[None]:
        """Within this, cancelling has ``stop`` called in the event loop that runs here; it is called at once where the ticket is
        cancelled already.
        """
        loop = asyncio.get_running_loop()

        def soon() -> None:
            with suppress(RuntimeError):  # the loop has ended, and the work with it
                loop.call_soon_threadsafe(stop)

        with self._lock:
            self._stop = soon
            cancelled = self._cancelled
        if cancelled:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None
