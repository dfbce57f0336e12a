"""Times for people."""

from __future__ import annotations

import time

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def ago(moment: float) -> str:
    """How long ago, in the largest unit that fits."""
    return duration(max(0.0, time.time() - moment)) + " ago"


def duration(seconds: float) -> str:
    """A time for people: in the largest unit that fits."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    unit, name = next((unit, name) for unit, name in _UNITS if seconds >= unit)
    return f"{seconds / unit:.0f} {name}"


class Pace:
    """How long what is left may take, by how long what was done took."""

    def __init__(self, done: int = 0) -> None:
        self._before, self._started = done, time.monotonic()

    def left(self, done: int, total: int) -> str:
        """In words, "" where it can't be told."""
        if done <= self._before or total < done:
            return ""
        return f"{duration((time.monotonic() - self._started) / (done - self._before) * (total - done))} left"
