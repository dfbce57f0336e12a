"""The way of a run's events from its thread to the editor: at once when they are rare, in batches when they are many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from merrow_runtime.events import LAST

Json = dict[str, Any]
Deliver = Callable[[list[Json]], None]

_PAUSE = 0.05
"""Seconds between two batches; text that comes within them arrives as one event."""
_MOST = 200
"""Events of a batch: whoever takes them has something else to do in between."""


class EventChannel:
    """Takes events in a run's loop, and has ``deliver`` called with them in ``loop``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Deliver) -> None:
        self._editor = loop
        self._deliver = deliver
        self._waiting: list[Json] = []
        self._texts: dict[tuple[Any, ...], Json] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sent = 0.0

    def put(self, event: Json) -> None:
        """Send an event, soon. Text of a node that follows on text that waits is added to it."""
        if event["event"] == "node_output":
            place = (event["node"], event.get("step"), event.get("sample"))
            earlier = self._texts.get(place)
            if earlier is not None:
                earlier["text"] += event["text"]
                return
            self._texts[place] = event = dict(event)
        elif self._texts:
            # What a node says after another event of it stands behind that event.
            self._texts = {place: text for place, text in self._texts.items() if place[0] != event["node"]}
        self._waiting.append(event)
        if event["event"] in LAST:
            self.flush()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._sent + _PAUSE), self._batch)

    def flush(self) -> None:
        """Send all that waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            self._send()

    def _batch(self) -> None:
        self._timer = None
        self._send()
        if self._waiting:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE / 10, self._batch)

    def _send(self) -> None:
        batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        self._texts = {}
        self._sent = asyncio.get_running_loop().time()
        with contextlib.suppress(RuntimeError):  # the editor's loop is closed: nobody listens any more
            self._editor.call_soon_threadsafe(self._deliver, batch)
