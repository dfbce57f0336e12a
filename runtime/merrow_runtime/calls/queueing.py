"""Waiting for one of the places that an endpoint has for calls: when a node or a run does nothing else, and for how long."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

Moment = Literal["waits", "gives up", "gets", "begins", "ends"]
"""What happens to a call: it waits for a place, gives that up, or gets one; it begins without having waited; it ends."""
_CHANGES: dict[Moment, tuple[int, int]] = {
    "waits": (1, 0),
    "gives up": (-1, 0),
    "gets": (-1, 1),
    "begins": (0, 1),
    "ends": (0, -1),
}


@dataclass(slots=True, eq=False)
class Queueing:
    """The calls of one node or run. It is queued while some wait for a place and none has one. ``seconds`` is for how long that
    was so, in all, until it was last over.
    """

    seconds: float = 0.0
    _waiting: int = 0
    _placed: int = 0
    _since: float | None = None

    @property
    def is_queued(self) -> bool:
        return self._since is not None

    def note(self, moment: Moment) -> bool:
        """Note what happens to a call; whether that begins or ends the time in which all is queued."""
        waiting, placed = _CHANGES[moment]
        self._waiting += waiting
        self._placed += placed
        is_queued = self._waiting > 0 and self._placed == 0
        if is_queued == self.is_queued:
            return False
        now = time.monotonic()
        if self._since is not None:
            self.seconds += now - self._since
        self._since = now if is_queued else None
        return True
