"""When a call that failed is tried again: exponential waits with jitter, or what the endpoint asks for, within limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import uniform
from typing import TypeVar

from merrow_runtime.errors import EndpointFailure

T = TypeVar("T")

DEFAULT_RETRIES = 3


@dataclass(frozen=True, slots=True)
class Retrying:
    """A retry about to be waited for: the ``number``-th (from 1) of at most ``of``, in ``wait`` seconds, since ``failure``."""

    number: int
    of: int
    wait: float
    failure: EndpointFailure


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which failures are retried, how often and after how long. Times in seconds.

    Only failures that are transient are retried: at most ``retries`` times, waiting ``first_wait``, then twice as long each
    time up to ``longest_wait``, plus up to ``jitter`` at random so that calls which failed together don't come back
    together. An endpoint that asks for a wait (Retry-After) gets it, unless it asks for more than
    ``longest_retry_after``. Nothing is tried again that would start later than ``total`` after the first failure.
    """

    retries: int = DEFAULT_RETRIES
    first_wait: float = 1.0
    longest_wait: float = 30.0
    jitter: float = 1.0
    longest_retry_after: float = 120.0
    total: float = 900.0

    async def again(
        self,
        failure: EndpointFailure,
        attempt: Callable[[], Awaitable[T]],
        on_retry: Callable[[Retrying], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> T:
        """Call ``attempt`` again, which failed with ``failure``, until it succeeds. ``on_retry`` hears of every retry before
        its wait. ``sleep`` and ``clock`` are in seconds.

        Raises the last failure, with the number of tries where there were several, or why no more was waited for.
        """
        started = clock()
        tries = 1
        while not failure.fatal and failure.transient:
            wait = self._wait(tries, failure)
            reason = self._reason_to_stop(tries, failure, clock() - started + wait)
            if reason == "":
                break
            if reason is not None:
                raise EndpointFailure(
                    f"{failure} {reason}",
                    transient=failure.transient,
                    fatal=failure.fatal,
                    model=failure.model,
                    retry_after=failure.retry_after,
                )
            if on_retry is not None:
                on_retry(Retrying(tries, self.retries, wait, failure))
            await sleep(wait)
            tries += 1
            try:
                return await attempt()
            except EndpointFailure as problem:
                failure = problem
        raise failure

    def _wait(self, tries: int, failure: EndpointFailure) -> float:
        """How long to wait after so many tries, in seconds."""
        spread = uniform(0, self.jitter)  # noqa: S311 (no secret)
        if failure.retry_after is not None:
            return failure.retry_after + spread
        return min(self.first_wait * 2.0 ** min(tries - 1, 64), self.longest_wait) + spread

    def _reason_to_stop(self, tries: int, failure: EndpointFailure, begins: float) -> str | None:
        """Why nothing more is tried ("" for no words needed); None to continue. The next try ``begins`` then."""
        asked = failure.retry_after
        if tries > self.retries:
            return f"It was tried {tries} times." if self.retries else ""
        if asked is not None and asked > self.longest_retry_after:
            return (
                f"It asks to wait {asked:.0f} seconds, more than the {self.longest_retry_after:.0f} that Merrow waits:"
                " run it again then."
            )
        if begins > self.total:
            return f"Trying again would take longer than {self.total:.0f} seconds in all."
        return None
