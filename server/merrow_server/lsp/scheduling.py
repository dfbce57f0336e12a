"""When open documents are checked: soon after a change, but once for a burst of changes.

A change that comes alone is checked at once (the transport has already waited for what arrives with it). While one waits to be
checked, each further one puts the check off, by about twice as long as the last one took, yet not forever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

SHORTEST, LONGEST = 0.002, 0.150
"""Seconds between the last change of a burst and its check."""
PATIENCE = 0.6
"""Seconds after which a burst is checked although it goes on."""


@dataclass(slots=True)
class _WaitingCheck:
    handle: asyncio.Handle
    since: float


class CheckScheduler:
    """Calls ``check`` with the URI of each document that was touched, from the event loop."""

    def __init__(self, check: Callable[[str], None]) -> None:
        self._check = check
        self._waiting: dict[str, _WaitingCheck] = {}
        self._took: dict[str, float] = {}

    @property
    def waits(self) -> bool:
        """Whether a document is yet to be checked."""
        return bool(self._waiting)

    def touch(self, uri: str) -> None:
        """The document changed: check it soon."""
        loop = asyncio.get_running_loop()
        now = time.monotonic()
        waiting = self._waiting.get(uri)
        if waiting is None:
            self._waiting[uri] = _WaitingCheck(loop.call_soon(self._run, uri), now)
            return
        waiting.handle.cancel()
        delay = min(max(2 * self._took.get(uri, 0.0), SHORTEST), LONGEST)
        waiting.handle = loop.call_later(max(0.0, min(delay, waiting.since + PATIENCE - now)), self._run, uri)

    def forget(self, uri: str) -> None:
        """Don't check the document any more."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.handle.cancel()
        self._took.pop(uri, None)

    def forget_all(self) -> None:
        for uri in list(self._waiting):
            self.forget(uri)

    def _run(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        start = time.monotonic()
        self._check(uri)
        self._took[uri] = time.monotonic() - start
