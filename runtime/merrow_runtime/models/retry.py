"""When a call that failed is tried again: exponential waits with jitter, or what the endpoint asks for, within limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

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
    ``longest_retry_after``. Nothing is tried again that would start later than ``total`` after the first try.
    """

    retries: int = DEFAULT_RETRIES
    first_wait: float = 1.0
    longest_wait: float = 30.0
    jitter: float = 1.0
    longest_retry_after: float = 120.0
    total: float = 900.0

    async def call(
        self,
        attempt: Callable[[], Awaitable[T]],
        on_retry: Callable[[Retrying], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> T:
        """Call ``attempt`` until it succeeds. ``on_retry`` hears of every retry before its wait. ``sleep`` and
        ``clock`` are in seconds.

        Raises the last failure, with the number of tries where there were several, or why no more was waited for.
        """
        started = clock()
        reasons: list[str] = []

        def is_over(state: tenacity.RetryCallState) -> bool:
            reason = self._reason_to_stop(state, clock() - started)
            if reason is not None:
                reasons.append(reason)
            return reason is not None

        async def before_wait(state: tenacity.RetryCallState) -> None:
            failure = _failure_of(state)
            if on_retry is not None and failure is not None:
                on_retry(Retrying(state.attempt_number, self.retries, state.upcoming_sleep, failure))

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(_is_transient),
            wait=self._wait,
            stop=is_over,
            before_sleep=before_wait,
            sleep=sleep,
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except EndpointFailure as failure:
            if not reasons or not reasons[-1]:
                raise
            raise EndpointFailure(
                f"{failure} {reasons[-1]}",
                transient=failure.transient,
                fatal=failure.fatal,
                model=failure.model,
                retry_after=failure.retry_after,
            ) from None

    def _wait(self, state: tenacity.RetryCallState) -> float:
        failure = _failure_of(state)
        spread = tenacity.wait_random(0, self.jitter)(state)
        if failure is not None and failure.retry_after is not None:
            return failure.retry_after + spread
        exponential = tenacity.wait_exponential(multiplier=self.first_wait, max=self.longest_wait)
        return exponential(state) + spread

    def _reason_to_stop(self, state: tenacity.RetryCallState, elapsed: float) -> str | None:
        """Why nothing more is tried ("" for no words needed); None to go on."""
        failure = _failure_of(state)
        asked = None if failure is None else failure.retry_after
        if state.attempt_number > self.retries:
            return f"It was tried {state.attempt_number} times." if self.retries else ""
        if asked is not None and asked > self.longest_retry_after:
            return (
                f"It asks to wait {asked:.0f} seconds, more than the {self.longest_retry_after:.0f} that Merrow waits:"
                " run it again then."
            )
        if elapsed + state.upcoming_sleep > self.total:
            return f"Trying again would take longer than {self.total:.0f} seconds in all."
        return None


def _is_transient(problem: BaseException) -> bool:
    return isinstance(problem, EndpointFailure) and problem.transient and not problem.fatal


def _failure_of(state: tenacity.RetryCallState) -> EndpointFailure | None:
    problem = None if state.outcome is None else state.outcome.exception()
    return problem if isinstance(problem, EndpointFailure) else None
