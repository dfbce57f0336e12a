"""One call to an endpoint: within the budget and the concurrency, tried again while that can help."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from merrow_runtime.calls.gate import CallSlots, Stops
from merrow_runtime.calls.queueing import Moment
from merrow_runtime.errors import EndpointFailure, RephrasedFailure, RunFailure, StoreFailure
from merrow_runtime.models.budget import Budget, Reservation
from merrow_runtime.models.endpoint import Endpoint, OnText, embed_at, refused_at
from merrow_runtime.models.prices import Price, price_at
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.models.tokens import calls_tokens, estimate_call, estimate_tokens, prompt_tokens, sent_of
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.spending.meter import NO_LEAVE, Leave, Meter
from merrow_runtime.usage import NOTHING, Usage

_MOST_FORMS = 16
"""More than there are parts of a request that an endpoint may refuse one after another."""


class Listener(Protocol):
    """Who wants a call to be made, as far as it hears of it before there is a reply."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """The call is tried again, in ``wait`` seconds."""
        ...

    def moved(self, moment: Moment) -> None:
        """A try waits for one of the endpoint's places, gets it, or leaves it."""
        ...

    def streamed(self, text: str) -> None:
        """A part of the answer has come."""
        ...

    async def lost(self, usage: Usage, why: str) -> None:
        """A try was paid, perhaps, and has no result: keep what it used, and why."""
        ...


class CallMarks(Protocol):
    """Who keeps that a call is on its way, so that it is known of if the process is killed before there is an answer."""

    async def sending(self, usage: Usage) -> None:
        """A try leaves now, once this returns; ``usage`` is what it uses in any case. The mark stays until the reply is kept,
        or the try is ``lost``, or `unsent` is called.
        """
        ...

    def unsent(self) -> None:
        """The try has ended, and nothing was paid."""
        ...


class Calling:
    """Makes calls for one run. ``budget`` is None where nothing bounds it, ``meter`` where nothing is paid."""

    def __init__(
        self,
        endpoint: Endpoint,
        places: CallSlots,
        budget: Budget | None = None,
        policy: RetryPolicy | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.origin = endpoint.origin
        self._open: Callable[[], Awaitable[None]] | None = getattr(endpoint, "open", None)
        self._places = places
        self._budget = budget
        self._meter = meter
        self._policy = RetryPolicy() if policy is None else policy
        self._stops = Stops()
        self._reached = False
        """Whether the endpoint answered once: before that, a call that is stopped since it can't be reached was not sent."""
        self._prices: dict[str, Price | None] = {}

    @property
    def is_limited(self) -> bool:
        """Whether the run has a budget."""
        return self._budget is not None

    def allows(self, usage: Usage, seconds: float) -> bool:
        """Whether the budget of the run, if it has one, still has as much, and so many seconds."""
        return self._budget is None or self._budget.allows(usage, seconds)

    def wait(self, seconds: float) -> None:
        """So many seconds were spent on waiting for people, which the budget of the run is not for."""
        if self._budget is not None:
            self._budget.extend(seconds)

    @property
    def remaining_seconds(self) -> float | None:
        """The seconds that the budget of the run still allows; None without such a limit."""
        return None if self._budget is None else self._budget.remaining_seconds

    def price(self, model: str) -> Price | None:
        """The price of a model at the endpoint; None where it isn't known."""
        if model not in self._prices:
            self._prices[model] = price_at(self.endpoint, model)
        return self._prices[model]

    def varies(self, request: ModelRequest) -> bool:
        """Whether the same request may be answered differently: at a temperature above 0, or at the endpoint's own, where it has
        refused to be told.
        """
        return request.temperature > 0 or "temperature" in refused_at(self.endpoint, request.model)

    def close(self) -> None:
        """The run is over: what it paid is written down."""
        if self._meter is not None:
            self._meter.close()

    async def call(
        self,
        request: ModelRequest,
        retries: int | None,
        listener: Listener,
        *,
        stream: bool = False,
        marks: CallMarks | None = None,
    ) -> ModelReply:
        """A reply, after up to ``retries`` further tries (None: as many as the policy says), its usage counted and priced.

        Raises `EndpointFailure`, `BudgetFailure`. ``listener`` hears what a try without a reply has used: as the endpoint
        counted it, or estimated where the try was cancelled, ran out of time or was cut off; with ``stream`` parts of the
        answer, too. ``marks`` keeps what is on its way.
        """
        put = partial(self._put, partial(self._once, request, listener, stream, marks), listener)
        try:
            return await put()
        except EndpointFailure as failure:
            first = failure
        # The policy is asked only now: most calls need none.
        policy = self._policy if retries is None else replace(self._policy, retries=retries)
        return await policy.again(first, put, lambda retry: listener.retrying(retry.failure, retry.wait))

    async def _put(self, once: Callable[[], Awaitable[ModelReply]], listener: Listener) -> ModelReply:
        """One try, in the form in which the endpoint takes it: each in which it doesn't is a request of its own."""
        try:
            for _ in range(_MOST_FORMS):
                try:
                    return await once()
                except RephrasedFailure as failure:
                    listener.retrying(failure, 0.0)
            return await once()
        except EndpointFailure as failure:
            if failure.fatal:
                self._stops.stop(failure)
            raise

    def _once(
        self, request: ModelRequest, listener: Listener, stream: bool, marks: CallMarks | None
    ) -> Awaitable[ModelReply]:
        toll = _Toll(listener, marks, request.model, self._places)
        if self._budget is None:
            return self._try(request, toll, stream)
        return self._within(self._budget, request, toll, stream)

    async def _within(self, budget: Budget, request: ModelRequest, toll: _Toll, stream: bool) -> ModelReply:
        self._stops.check(request.model)
        price = self.price(request.model)
        estimate = estimate_call(request, self.endpoint, price)
        async with budget.reserve(estimate, sent_of(estimate, price)) as reservation:
            toll.reservation = reservation
            reply = await self._try(request, toll, stream)
            reservation.settle(reply.usage)
            return reply

    async def _try(self, request: ModelRequest, toll: _Toll, stream: bool) -> ModelReply:
        self._stops.check(request.model)
        try:
            reply = await self._sent(request, toll, stream)
            toll.count(reply.usage)
            return reply
        finally:
            toll.close()

    async def _sent(self, request: ModelRequest, toll: _Toll, stream: bool) -> ModelReply:
        await self._enter(request, toll)
        try:
            self._stops.check(request.model)
            task = self._stops.enter(request.model)
            shown: list[str] = []
            stopped: EndpointFailure | None = None
            started = time.perf_counter()
            try:
                if request.timeout is not None and self._open is not None:
                    # The node's time is for its call, not for what has to be made ready before the first.
                    await self._open()
                if not stream and request.timeout is None:
                    reply = await self._answered(request)
                else:
                    reply = await self._ask(request, shown, toll.listener if stream else None)
            except asyncio.CancelledError:
                if not task.cancelling():
                    # Nobody ended the call: it was the endpoint that did.
                    self._stops.leave(task)
                    await toll.lost(self._estimated(request, shown), "failed")
                    raise EndpointFailure(f"{self.origin} cancelled the call.", transient=True) from None
                stopped = self._stops.of(request.model) if self._stops.leave(task) else None
                if stopped is None or stopped.sent or self._reached:
                    why = "stopped" if stopped else "cancelled"
                    await _kept(toll.lost(self._estimated(request, shown), why))
                if stopped is None:
                    raise
            except TimeoutError:
                self._stops.leave(task)  # the call is over: what stops others must not end the keeping of its usage
                await toll.lost(self._estimated(request, shown), "timeout")
                # Without a limit of the request it was the endpoint that gave up.
                within = "" if request.timeout is None else f" within {request.timeout:g} seconds"
                raise EndpointFailure(
                    f"{self.origin} gave no answer{within}; a higher `timeout` waits longer.", transient=True
                ) from None
            except EndpointFailure as failure:
                self._stops.leave(task)
                self._reached = self._reached or failure.sent
                if failure.usage is not None or failure.paid:
                    await toll.lost(failure.usage or self._estimated(request, shown), "failed")
                if failure.too_many and self._meter is not None:
                    await self._meter.pause(request.model, failure.retry_after)
                raise
            except Exception as fault:
                # Between the question and its reply: a fault of an endpoint, or a recording that can't be written any more.
                self._stops.leave(task)
                if isinstance(fault, StoreFailure) or not isinstance(fault, RunFailure):
                    await toll.lost(self._estimated(request, shown), "failed")
                raise
            finally:
                self._stops.leave(task)
        finally:
            self._leave(toll.listener)
        if stopped is not None:
            raise stopped
        self._reached = True
        reply = self._counted(request, reply, time.perf_counter() - started)
        self._places.traffic.answers += 1
        self._places.traffic.used += reply.usage
        return reply

    async def _enter(self, request: ModelRequest, toll: _Toll) -> None:
        """Get one of the endpoint's places, and what the user's limits ask for. Where that takes long, it is known."""
        listener = toll.listener
        await self._places.ready()
        if self._places.is_full:
            await self._wait(listener)
        else:
            await self._places.acquire()
            listener.moved("begins")
        is_held = False

        def waits() -> None:
            nonlocal is_held
            if not is_held:
                is_held = True
                listener.moved("ends")
                listener.moved("waits")

        try:
            self._stops.check(request.model)
            used = partial(self._estimated, request, ())
            if self._meter is not None:
                toll.leave = await self._meter.begin(request.model, partial(self._most_tokens, request), used, waits)
                toll.meter = self._meter
            if is_held:
                is_held = False
                listener.moved("gets")
            await toll.mark(used)
        except BaseException:
            if is_held:
                self._places.release()
                listener.moved("gives up")
            else:
                self._leave(listener)
            raise

    async def _wait(self, listener: Listener) -> None:
        """Wait for a place, and let that be known."""
        listener.moved("waits")
        try:
            await self._places.acquire()
        except BaseException:
            listener.moved("gives up")
            raise
        listener.moved("gets")

    def _most_tokens(self, request: ModelRequest) -> int:
        return estimate_call(request, self.endpoint, None).tokens

    def _leave(self, listener: Listener) -> None:
        """Give a place to the next call. Where that is one of the same node, it isn't queued in between."""
        self._places.release()
        if self._places.waiting:
            asyncio.get_running_loop().call_soon(listener.moved, "ends")
        else:
            listener.moved("ends")

    async def _ask(self, request: ModelRequest, shown: list[str], listener: Listener | None) -> ModelReply:
        def show(text: str) -> None:
            shown.append(text)
            if listener is not None:
                listener.streamed(text)

        on_text = None if listener is None else show
        async with asyncio.timeout(request.timeout):
            return await self._answered(request, on_text)

    def _answered(self, request: ModelRequest, on_text: OnText | None = None) -> Awaitable[ModelReply]:
        if request.embeds:
            return embed_at(self.endpoint, request)
        return self.endpoint.complete(request, on_text)

    def _counted(self, request: ModelRequest, reply: ModelReply, seconds: float) -> ModelReply:
        """The reply with its usage complete: an endpoint of a program's own may count nothing."""
        usage = reply.usage
        if usage.calls == 0:
            price = self.price(request.model)
            if usage.tokens == 0:
                tokens = (
                    prompt_tokens(request),
                    (estimate_tokens(reply.text) + estimate_tokens(reply.thinking) + calls_tokens(reply.calls)),
                )
                usage = Usage(*tokens, 1, None, estimated=True)
            cost = None if price is None else price.cost(usage)
            usage = Usage(usage.prompt_tokens, usage.completion_tokens, 1, cost, usage.estimated)
        elif reply.seconds:
            return reply
        return replace(reply, usage=usage, seconds=reply.seconds or seconds)

    def _estimated(self, request: ModelRequest, shown: Sequence[str]) -> Usage:
        """What a call without a result has used: its prompt, and as much of the answer as was seen."""
        usage = Usage(prompt_tokens(request), estimate_tokens("".join(shown)), 1, None, estimated=True)
        price = self.price(request.model)
        return usage if price is None else replace(usage, cost_usd=price.cost(usage))


@dataclass(slots=True)
class _Toll:
    """What one try costs, and who must know of it."""

    listener: Listener
    marks: CallMarks | None
    model: str
    places: CallSlots
    reservation: Reservation | None = None
    meter: Meter | None = None
    leave: Leave = NO_LEAVE
    _is_marked: bool = False
    _is_counted: bool = False

    async def mark(self, used: Callable[[], Usage]) -> None:
        """Have the journal of the run know that it leaves now; ``used`` says what it uses in any case."""
        if self.marks is not None:
            self._is_marked = True
            await self.marks.sending(used())

    def count(self, usage: Usage) -> None:
        """Count what was paid, over all runs."""
        self._is_counted = True
        if self.meter is not None:
            self.meter.count(self.leave, self.model, usage)

    async def lost(self, usage: Usage, why: str) -> None:
        """Count what was paid for nothing."""
        self.places.traffic.used += usage
        self.count(usage)
        if self.reservation is not None:
            self.reservation.settle(usage)
        await self.listener.lost(usage, why)

    def close(self) -> None:
        """Give back the tokens of a try that used none, and forget that it was begun."""
        if self._is_counted:
            return
        if self.meter is not None:
            self.meter.count(self.leave, self.model, NOTHING)
        if self.marks is not None and self._is_marked:
            self.marks.unsent()


async def _kept(work: Awaitable[None]) -> None:
    """Finish a write although the task is cancelled (again)."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                return
