"""What stands between a run and its endpoint for all runs of a user: limits a minute, and the cap of the month."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from datetime import UTC, datetime

from merrow_runtime.errors import BudgetFailure, StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits, SpendingLimits
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN
from merrow_runtime.spending.ledger import Ledger, ledger
from merrow_runtime.usage import Usage

_LONGEST_SLEEP = 5.0
"""Seconds: a place may come free sooner than was seen, since calls settle with fewer tokens than they reserved."""

_QUEUES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = weakref.WeakKeyDictionary()


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
        """Raise `MonthSpent` where this month's calls have cost all that they may."""
        if self._month_usd is None:
            return
        spent = self._ledger.of_month()
        if spent >= self._month_usd:
            month = f"{datetime.now(UTC):%B}"
            raise MonthSpent(
                f"Your settings allow {self._month_usd:g} US dollars a month, and {spent:.4f} are spent in {month}: raise"
                " `month_usd` under `[limits]` in your own settings to continue now. `merrow costs` shows what was spent."
            )

    async def admit(self, tokens: int) -> int:
        """Wait until a call of some ``tokens`` may be made; the number to settle it by, 0 without limits a minute.

        Raises `MonthSpent`, `StoreFailure`.
        """
        self.check()
        if not self._is_open:
            self._is_open = True
            self._ledger.enter()
        if self.minute is None:
            return 0
        # Those of one process wait in line, so that large calls are not passed by for ever.
        queues = _QUEUES.setdefault(asyncio.get_running_loop(), {})
        async with queues.setdefault(self._origin, asyncio.Lock()):
            return await self._place(self.minute, tokens)

    async def _place(self, minute: MinuteLimits, tokens: int) -> int:
        while True:
            number, wait = self._ledger.admit(self._origin, minute, tokens)
            if number:
                return number
            await asyncio.sleep(min(wait, _LONGEST_SLEEP))
            self.check()

    def begin(self, model: str, usage: Usage) -> int:
        """Write down that a call leaves now, which uses ``usage`` in any case; the number to count it by, 0 where it can't be."""
        with contextlib.suppress(StoreFailure):
            return self._ledger.begin(self._workflow, self._origin, model, usage)
        return 0

    def count(self, number: int, model: str, usage: Usage, begun: int = 0) -> None:
        """Count what a call used, whatever came of it; ``number`` is that of `admit`, ``begun`` that of `begin`. What can't be
        written down any more stops no run.
        """
        with contextlib.suppress(StoreFailure):
            if begun or usage.calls:
                self._ledger.count(self._workflow, self._origin, model, usage, begun)
            if number:
                self._ledger.settle(number, usage.tokens)

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
