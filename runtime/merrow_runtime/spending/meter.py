"""What stands between a run and its endpoint for all runs of a user: limits a minute, and the cap of the month."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from merrow_runtime.errors import BudgetFailure, StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits, SpendingLimits
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN
from merrow_runtime.spending.ledger import Ledger, ledger
from merrow_runtime.spending.permits import Demand, Permit
from merrow_runtime.usage import NOTHING, Usage

_LONGEST_SLEEP = 5.0
"""Seconds: a place may come free sooner than was seen, since calls settle with fewer tokens than they reserved."""

_UNASKED_PAUSE = 1.0
"""Seconds for which calls wait where an endpoint refuses one of them and does not say for how long."""
_SOON = 1.0
"""Seconds after which other processes may use what calls were said to need and didn't."""


class _Line:
    """The calls of one process to one endpoint that wait for permits. They wait in line, so that large calls are not passed by
    for ever.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.behind = Demand()
        self.is_long = False

    def join(self, requests: int, tokens: int) -> None:
        self.behind = Demand(self.behind.requests + requests, self.behind.tokens + tokens)


_LINES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Line]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Leave:
    """That a call may leave: the number by which it was begun in the ledger, and its permit where there are limits a minute."""

    begun: int = 0
    permit: Permit | None = None


NO_LEAVE = Leave()


class MonthSpent(BudgetFailure):
    """This month's calls have cost all that the user's settings allow: nothing that pays goes on, whatever asks."""


class Meter:
    """Of one run: ``workflow`` is what its costs are booked under ("" for a run that keeps nothing)."""

    def __init__(self, ledger: Ledger, limits: SpendingLimits, workflow: str, origin: str) -> None:
        self._ledger = ledger
        self._workflow = workflow
        self._origin = origin
        self._month_usd = limits.month_usd
        self.minute = limits.endpoints.get(origin)
        self._is_open = False

    def check(self) -> None:
        """Raise `MonthSpent` where this month's calls have cost all that they may, before a run begins."""
        if self._month_usd is not None:
            self._compare(self._month_usd, self._ledger.month_at_start())

    async def _check(self) -> None:
        if self._month_usd is None:
            return
        if not self._ledger.is_month_known:
            await self._ledger.off_loop(self._ledger.of_month)
        self._compare(self._month_usd, self._ledger.known_of_month())

    def _compare(self, allowed: float, spent: float) -> None:
        if spent >= allowed:
            month = f"{datetime.now(UTC):%B}"
            raise MonthSpent(
                f"Your settings allow {allowed:g} US dollars a month, and {spent:.4f} are spent in {month}: raise"
                " `month_usd` under `[limits]` in your own settings to continue now. `merrow costs` shows what was spent."
            )

    async def begin(
        self, model: str, tokens: Callable[[], int], used: Callable[[], Usage], waits: Callable[[], None]
    ) -> Leave:
        """Wait until a call of some ``tokens`` to a ``model`` may leave, and write down that it leaves now, and what it uses in
        any case. ``waits`` is called where that takes long. Raises `MonthSpent`, `StoreFailure`.
        """
        await self._check()
        if not self._is_open:
            self._is_open = True
            self._ledger.enter()
        estimate = 0 if self.minute is None else tokens()
        while True:
            while left := self._ledger.paused(self._origin, model):
                waits()
                await asyncio.sleep(left)
                await self._check()
            permit = None if self.minute is None else await self._permit(self.minute, estimate, waits)
            begun = 0
            with contextlib.suppress(StoreFailure):  # what can't be written down stops no run
                begun = await self._ledger.off_loop(
                    partial(self._ledger.begin, self._workflow, self._origin, model, used())
                )
            if not self._ledger.paused(self._origin, model):
                return Leave(begun, permit)
            # Another process has learned meanwhile that the endpoint takes none.
            if permit is not None:
                self._ledger.settle(permit, None)
            self.count(Leave(begun), model, NOTHING)

    async def _permit(self, minute: MinuteLimits, tokens: int, waits: Callable[[], None]) -> Permit:
        line = _LINES.setdefault(asyncio.get_running_loop(), {}).setdefault(self._origin, _Line())
        line.join(1, tokens)
        is_behind = True
        try:
            if line.is_long:
                waits()
            async with line.turn:
                line.join(-1, -tokens)
                is_behind = False
                while True:
                    permit = self._ledger.take(self._origin, minute, tokens)
                    if permit is not None:
                        return permit
                    wait = await self._ledger.off_loop(
                        partial(self._ledger.refill, self._origin, minute, tokens, line.behind)
                    )
                    if wait:
                        line.is_long = True
                        waits()
                        await asyncio.sleep(min(wait, _LONGEST_SLEEP))
                        await self._check()
        finally:
            if is_behind:
                line.join(-1, -tokens)
            else:
                line.is_long = False

    async def pause(self, model: str, seconds: float | None) -> None:
        """The endpoint takes no more calls to a model for so many seconds (None: it doesn't say): those of all processes wait."""
        with contextlib.suppress(StoreFailure):
            pausing = partial(self._ledger.pause, self._origin, model, _UNASKED_PAUSE if seconds is None else seconds)
            await self._ledger.off_loop(pausing)

    def count(self, leave: Leave, model: str, usage: Usage) -> None:
        """Count what a call used, whatever came of it. What can't be written down any more stops no run."""
        with contextlib.suppress(StoreFailure):
            if leave.begun or usage.calls:
                self._ledger.count(self._workflow, self._origin, model, usage, leave.begun)
            if leave.permit is not None:
                self._ledger.settle(leave.permit, usage.tokens)
                if not self._ledger.is_flush_due:
                    self._ledger.is_flush_due = True
                    asyncio.get_running_loop().call_later(_SOON, self._flush)

    def _flush(self) -> None:
        with contextlib.suppress(StoreFailure):
            self._ledger.flush_soon()

    def close(self) -> None:
        """Count no more, once the run is over."""
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(StoreFailure):
                self._ledger.leave()


def meter_of(origin: str, limits: SpendingLimits, workflow: str, *, keeps: bool = True) -> Meter | None:
    """What counts calls to an endpoint over all commands, booked under ``workflow`` (a whole path), and keeps them within the
    user's ``limits``; None where nothing is paid, and where nothing can be counted, or kept, and nothing is limited.

    Raises `MonthSpent` where this month's money is spent; `StoreFailure` where there are limits, and what was spent can't be
    read.
    """
    if origin in (OFFLINE_ORIGIN, REPLAY_ORIGIN):
        return None
    limited = limits != SpendingLimits()
    if not keeps and not limited:
        return None  # nothing is to be written
    try:
        meter = Meter(ledger(), limits, workflow if keeps else "", origin)
    except StoreFailure:
        if limited:
            raise
        return None
    meter.check()
    return meter
