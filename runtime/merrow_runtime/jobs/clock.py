"""The time of a job, over all processes that worked on it."""

from __future__ import annotations

import time


class Clock:
    """Counts on from ``worked`` seconds. ``limit`` is how many seconds the job may take; None: as many as it needs."""

    def __init__(self, limit: float | None = None, worked: float = 0.0) -> None:
        self._limit, self._before, self._began = limit, worked, time.monotonic()

    @property
    def here(self) -> float:
        """The seconds since this process began to work on it."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float | None:
        """The seconds that are left, 0 where the time is over; None without a limit."""
        return None if self._limit is None else max(0.0, self._limit - self._before - self.here)

    @property
    def is_over(self) -> str:
        """Says that the time is over, without the full stop."""
        return f"The budget of {self._limit:g} seconds is over"
