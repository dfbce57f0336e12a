"""A limit on time that does not depend on how busy the machine is: waiting for a processor isn't counted.

Linux says how long each thread was ready to run and had to wait (``schedstat``). Elsewhere the limit is one by the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

_LOOK_S = 0.2
_MOST_WAITED_S = 3600.0
"""However busy the machine is, no more than this is added to a limit."""


class Waited:
    """How long this thread, from now on, and some processes that it starts had to wait for a processor."""

    def __init__(self) -> None:
        self._seen = {"thread-self": waited_by("thread-self")}
        self._total = 0.0

    def seconds(self, *processes: int) -> float:
        """The sum so far, of processes that have ended too. Of each the first thread counts.

        To be called now and then: what a process waited between the last look at it and its end is not known.
        """
        for thread in ("thread-self", *map(str, processes)):
            waited = waited_by(thread)
            self._total += max(waited - self._seen.get(thread, 0.0), 0.0)
            self._seen[thread] = waited
        return min(self._total, _MOST_WAITED_S)


def waited_by(thread: str) -> float:
    """The seconds for which a thread, named as in ``/proc``, had to wait for a processor; 0 where the system doesn't say."""
    try:
        return int(Path("/proc", thread, "schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@contextlib.asynccontextmanager
async def time_limit(seconds: float, processes: Callable[[], tuple[int, ...]]) -> AsyncIterator[None]:
    """End a block after some seconds, as `asyncio.timeout` does; those in which this thread or the processes had to wait for a
    processor aren't counted.

    Args:
        seconds: how many, at least.
        processes: the ids of the processes that work for the block now.

    Raises:
        TimeoutError: when they are over.
    """
    async with asyncio.timeout(None) as limit:
        watching = asyncio.create_task(_end_after(seconds, processes, limit))
        try:
            yield
        finally:
            watching.cancel()


async def _end_after(seconds: float, processes: Callable[[], tuple[int, ...]], limit: asyncio.Timeout) -> None:
    clock = asyncio.get_running_loop().time
    waited = Waited()
    begun = clock()
    while (left := begun + seconds + waited.seconds(*processes()) - clock()) > 0:
        await asyncio.sleep(min(left, _LOOK_S))
    limit.reschedule(clock())
