"""A limit on time that does not depend on how busy the machine is: waiting for a processor isn't counted.

Linux says how long each thread was ready to run and had to wait (``schedstat``). Elsewhere the limit is one by the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

_LOOK_S = 0.2
_MOST_SHARE = 0.9
"""However busy the machine is, at least a tenth of the time by the clock counts: a limit ends after ten times as long at most,
whatever a program does to keep the processors busy.
"""


class Waited:
    """How long this thread, from now on, and some processes that it starts had to wait for a processor."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looked = clock()
        self._seen = {"thread-self": waited_by("thread-self")}
        self._total = 0.0

    def seconds(self, *processes: int) -> float:
        """The sum so far, of processes that have ended too. Of each the first thread counts.

        Those who wait at the same time wait once: since the last look, the one that waited longest counts. To be called now and
        then: what a process waited between the last look at it and its end is not known.
        """
        now, longest = self._clock(), 0.0
        for thread in ("thread-self", *map(str, processes)):
            waited = waited_by(thread)
            longest = max(longest, waited - self._seen.get(thread, 0.0))
            self._seen[thread] = waited
        self._total += min(longest, _MOST_SHARE * (now - self._looked))
        self._looked = now
        return self._total


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
    waited = Waited(clock)
    begun = clock()
    while (left := begun + seconds + waited.seconds(*processes()) - clock()) > 0:
        await asyncio.sleep(min(left, _LOOK_S))
    limit.reschedule(clock())
