"""The budget of a run: calls reserve what they are expected to use and settle what they used."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from types import TracebackType
from typing import Self

from merrow_runtime.errors import BudgetFailure
from merrow_runtime.usage import NOTHING, Usage


class NotEnoughLeft(BudgetFailure):
    """What is left of a budget is less than the next call needs: of a strict one, than it may use."""


class Budget:
    """Limits of money (US dollars), tokens and time (seconds since it was made); None is without a limit.

    A reservation that fits beside what is settled and what others hold starts at once. One that doesn't waits until
    others have settled; alone, it starts where what it sends fits into what is left, since how long the answer will be is no
    more than a guess: a run goes over its budget by one answer at most. A ``strict`` budget refuses it, so that it is kept where
    no call uses more than it reserves. Nothing starts once the settled sum has reached a limit or the time is over. Reservations
    start in the order in which they came. ``spent`` and ``elapsed`` are what an earlier part of the run used. For the tasks of
    one event loop.
    """

    def __init__(
        self,
        usd: float | None = None,
        tokens: int | None = None,
        seconds: float | None = None,
        spent: Usage = NOTHING,
        elapsed: float = 0.0,
        *,
        strict: bool = False,
    ) -> None:
        self._strict = strict
        self._usd = usd
        self._tokens = tokens
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds - elapsed
        self._settled = spent
        self._held: dict[Reservation, Usage] = {}
        self._waiting: dict[Reservation, asyncio.Future[None]] = {}

    def bound(self, usd: float | None, tokens: int | None) -> None:
        """From here on these limits of money and tokens hold."""
        self._usd, self._tokens = usd, tokens

    @property
    def bounds_calls(self) -> bool:
        """Whether there is a limit of money or tokens."""
        return self._usd is not None or self._tokens is not None

    @property
    def settled(self) -> Usage:
        """What was used and settled, with what was spent before."""
        return self._settled

    @property
    def remaining_seconds(self) -> float | None:
        """The time that is left, 0 when it is over; None without a limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def extend(self, seconds: float) -> None:
        """Allow so many seconds more."""
        if self._deadline is not None:
            self._deadline += seconds

    def allows(self, usage: Usage, seconds: float) -> bool:
        """Whether as much can be used beside what is settled and held, and so many seconds are left."""
        whole = sum([*self._held.values(), usage], self._settled)
        if self._tokens is not None and whole.tokens > self._tokens:
            return False
        if self._usd is not None and (whole.cost_usd is None or whole.cost_usd > self._usd):
            return False
        left = self.remaining_seconds
        return left is None or left > seconds

    def reserve(self, estimate: Usage, sent: Usage = NOTHING) -> Reservation:
        """Reserve for one call: ``async with budget.reserve(estimate) as reservation``. ``sent`` is the part of the estimate that
        it uses in any case, for what is sent.

        Entering waits for its turn and raises `BudgetFailure` where the call must not start.
        """
        return Reservation(self, estimate, sent)

    async def _enter(self, reservation: Reservation) -> None:
        refusal = self._refusal(reservation)
        if refusal is not None:
            raise refusal
        if not self._waiting and self._fits(reservation):
            self._held[reservation] = reservation.estimate
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[reservation] = turn
        try:
            async with asyncio.timeout(self.remaining_seconds):
                await turn
            # Another call may have settled more than it reserved since this one's turn came.
            refusal = self._refusal(reservation)
            if refusal is not None:
                raise refusal
        except BaseException as left:
            self._waiting.pop(reservation, None)
            self._leave(reservation)
            if isinstance(left, TimeoutError):
                raise self._too_late() from None
            raise

    def _settle(self, reservation: Reservation, usage: Usage) -> None:
        if usage.cost_usd is None and self._usd is not None:
            # Unpriced after all: what was reserved is counted, since a price is never taken for nothing.
            usage = replace(usage, cost_usd=reservation.estimate.cost_usd, estimated=True)
        self._settled = self._settled + usage
        self._leave(reservation)

    def _leave(self, reservation: Reservation) -> None:
        self._held.pop(reservation, None)
        while self._waiting:
            waiting, turn = next(iter(self._waiting.items()))
            if not turn.done():
                refusal = self._refusal(waiting)
                if refusal is not None:
                    turn.set_exception(refusal)
                elif self._fits(waiting):
                    self._held[waiting] = waiting.estimate
                    turn.set_result(None)
                else:
                    return
            del self._waiting[waiting]

    def _fits(self, reservation: Reservation) -> bool:
        estimate = reservation.estimate if self._held or self._strict else reservation.sent
        if self._tokens is not None:
            held = sum(usage.tokens for usage in self._held.values())
            if self._settled.tokens + held + estimate.tokens > self._tokens:
                return False
        if self._usd is not None:
            held_usd = sum(usage.cost_usd or 0.0 for usage in self._held.values())
            return (self._settled.cost_usd or 0.0) + held_usd + (estimate.cost_usd or 0.0) <= self._usd
        return True

    def _refusal(self, reservation: Reservation) -> BudgetFailure | None:
        estimate = reservation.estimate
        if self._usd is not None and estimate.cost_usd is None:
            return unpriced_failure()
        if self._usd is not None and (self._settled.cost_usd is None or self._settled.cost_usd >= self._usd):
            spent = "an unknown sum" if self._settled.cost_usd is None else f"{self._settled.cost_usd:.4f} US dollars"
            return BudgetFailure(
                f"The budget of {self._usd:g} US dollars is used up ({spent} spent): raise it with --budget-usd."
            )
        if self._tokens is not None and self._settled.tokens >= self._tokens:
            return BudgetFailure(
                f"The budget of {_tokens(self._tokens)} is used up ({self._settled.tokens} used): raise it with"
                " --budget-tokens."
            )
        if not self._held and not self._fits(reservation):
            limits = [] if self._usd is None else [f"{self._usd:g} US dollars"]
            limits += [] if self._tokens is None else [_tokens(self._tokens)]
            needs = "another call may use" if self._strict else "the prompt of the next call"
            option = "--budget-tokens" if self._usd is None else "--budget-usd"
            return NotEnoughLeft(
                f"The budget of {' and '.join(limits)} is used up but for less than {needs}: raise it with {option}."
            )
        return self._too_late() if self.remaining_seconds == 0 else None

    def _too_late(self) -> BudgetFailure:
        return BudgetFailure(f"The budget of {self._seconds:g} seconds is over: raise it with --budget-seconds.")


def _tokens(number: int) -> str:
    return "1 token" if number == 1 else f"{number} tokens"


class Reservation:
    """A call's share of a budget, from its start until it is settled or over."""

    def __init__(self, budget: Budget, estimate: Usage, sent: Usage) -> None:
        self.estimate, self.sent = estimate, sent
        self._budget = budget
        self._is_settled = False

    def settle(self, usage: Usage) -> None:
        """Count what the call used and hold no more. Called again, the sums add up (a try that failed but was paid)."""
        self._is_settled = True
        self._budget._settle(self, usage)

    async def __aenter__(self) -> Self:
        await self._budget._enter(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give up what is still held. A call that was cancelled unsettled is counted by its estimate, marked as such."""
        if not self._is_settled and isinstance(error, asyncio.CancelledError):
            self.settle(replace(self.estimate, estimated=True))
        self._budget._leave(self)


def unpriced_failure(model: str | None = None, origin: str | None = None) -> BudgetFailure:
    """Why a money budget is refused for a model without a price, and what to do."""
    what = "a model" if model is None else f"`{model}`"
    where = "" if origin is None else f" at {origin}"
    return BudgetFailure(
        f"The price of {what}{where} is not known, so a budget in US dollars can't be kept: set its price in your own"
        " settings (`[prices]`, 0 for a model that costs nothing) or limit `tokens` instead."
    )
