"""What stands before an endpoint: how many calls at a time, calls that are the same, and what stopped them all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary, WeakValueDictionary

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.requests import ModelReply
from merrow_runtime.usage import NOTHING, Usage


class InFlightCall:
    """A call on its way, and those that wait for it: few calls have any, so that a future is made for the first.

    ``retry_terms`` is how long and how often the caller tries: its failure is also that of others with the same terms.
    """

    __slots__ = ("_news", "_outcome", "_settled", "retry_terms")

    def __init__(self, retry_terms: object = None) -> None:
        self.retry_terms = retry_terms
        self._settled = False
        self._outcome: ModelReply | EndpointFailure | None = None
        self._news: asyncio.Future[ModelReply | EndpointFailure | None] | None = None

    async def wait(self) -> ModelReply | EndpointFailure | None:
        """Its reply, or its failure; None where whoever made it gave up."""
        if self._settled:
            return self._outcome
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._news)

    def settle(self, outcome: ModelReply | EndpointFailure | None) -> None:
        """Tell those that wait."""
        self._settled, self._outcome = True, outcome
        if self._news is not None:
            self._news.set_result(outcome)


@dataclass(slots=True)
class Traffic:
    """The calls to all endpoints in an event loop: that wait for a place, that are on their way, that were answered, and what
    all of them have used, those without an answer included.
    """

    waiting: int = 0
    sent: int = 0
    answers: int = 0
    used: Usage = NOTHING


class CallSlots:
    """The calls to an endpoint that may be on their way at the same time: ``most``, or what ``ask`` tells before the first of
    them where that is something. Others wait for a place here, where their time does not run yet. All count in ``traffic``.
    """

    __slots__ = ("_ask", "_asking", "_places", "traffic", "waiting")

    def __init__(
        self, most: int, ask: Callable[[], Awaitable[int | None]] | None = None, traffic: Traffic | None = None
    ) -> None:
        self.waiting = 0
        """Calls that wait for a place here."""
        self.traffic = traffic or Traffic()
        self._places = asyncio.Semaphore(most)
        self._ask = ask
        self._asking = asyncio.Lock()

    @property
    def is_full(self) -> bool:
        """Whether a call has to wait for its place."""
        return self._places.locked()

    async def ready(self) -> None:
        """Learn how many places there are, before anything is asked of them."""
        if self._ask is not None:
            await self._learn()

    async def acquire(self) -> None:
        """Wait for a place; `release` gives it back."""
        self.waiting += 1
        self.traffic.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
            self.traffic.waiting -= 1
        self.traffic.sent += 1

    def release(self) -> None:
        """Give a place back."""
        self.traffic.sent -= 1
        self._places.release()

    async def _learn(self) -> None:
        async with self._asking:
            if self._ask is None:
                return
            known = await self._ask()
            self._ask = None
            if known is not None:
                self._places = asyncio.Semaphore(known)  # Nobody has a place of the old one yet.


@dataclass(slots=True, eq=False, weakref_slot=True)
class EndpointGate:
    """The gate of one endpoint in one event loop, for all runs that use it."""

    loop: asyncio.AbstractEventLoop
    in_flight: dict[bytes, InFlightCall] = field(default_factory=dict)
    """Calls on their way that others with the same request may wait for, by cache key."""
    embedding: dict[bytes, asyncio.Event] = field(default_factory=dict)
    """Texts that are being embedded, by the keys of their vectors, and what is set when that is over."""
    under_way: int = 0
    """How many questions are being answered, from wherever."""
    _places: dict[int, CallSlots] = field(default_factory=dict)

    def places(self, concurrency: int, endpoint: Endpoint | None = None) -> CallSlots:
        """What bounds the calls of all runs that want the same bound. An ``endpoint`` whose bound is a guess is asked for it."""
        if concurrency not in self._places:
            ask = getattr(endpoint, "places", None)
            self._places[concurrency] = CallSlots(concurrency, ask if callable(ask) else None, _traffic_in(self.loop))
        return self._places[concurrency]


def traffic() -> Traffic:
    """That of the running event loop since it began, as it is now."""
    return replace(_traffic_in(asyncio.get_running_loop()))


def _traffic_in(loop: asyncio.AbstractEventLoop) -> Traffic:
    """It outlives gates: a job's runs, one after another, each have their own."""
    return _TRAFFIC.setdefault(loop, Traffic())


_TRAFFIC: WeakKeyDictionary[asyncio.AbstractEventLoop, Traffic] = WeakKeyDictionary()
_GATES: WeakKeyDictionary[Endpoint, EndpointGate] = WeakKeyDictionary()
_BY_CONNECTION: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[EndpointConnection, EndpointGate]] = (
    WeakKeyDictionary()
)


def gate_of(endpoint: Endpoint) -> EndpointGate:
    """The gate of an endpoint. Runs that are handed the same endpoint share it, and those whose endpoints go through the
    same connections (the same address, key and concurrency).
    """
    loop = asyncio.get_running_loop()
    connection = getattr(endpoint, "connection", None)
    if isinstance(connection, EndpointConnection):  # else it is some attribute of a program's own endpoint
        gates = _BY_CONNECTION.setdefault(loop, WeakValueDictionary())
        return gates.setdefault(connection, EndpointGate(loop))
    try:
        gate = _GATES.get(endpoint)
    except TypeError:
        return EndpointGate(
            loop
        )  # An endpoint that can't be hashed or weakly referenced: each run has a gate of its own.
    if gate is None or gate.loop is not loop:
        gate = _GATES[endpoint] = EndpointGate(loop)
    return gate


@dataclass(slots=True, eq=False)
class Stops:
    """What a run has learned that no call can succeed any more: at the endpoint, or for one model there."""

    _failures: dict[str | None, EndpointFailure] = field(default_factory=dict)
    _calling: dict[asyncio.Task[object], str] = field(default_factory=dict)
    _stopped: set[asyncio.Task[object]] = field(default_factory=set)

    def check(self, model: str) -> None:
        """Raise the failure that stops calls to this model."""
        if self._failures and (failure := self.of(model)) is not None:
            raise failure

    def of(self, model: str) -> EndpointFailure | None:
        return self._failures.get(None) or self._failures.get(model)

    def stop(self, failure: EndpointFailure) -> None:
        """End the calls that can't succeed, those on their way included."""
        self._failures.setdefault(failure.model, failure)
        current = asyncio.current_task()
        for task, model in self._calling.items():
            if task is not current and task not in self._stopped and failure.model in (None, model):
                self._stopped.add(task)
                task.cancel()

    def enter(self, model: str) -> asyncio.Task[object]:
        """Note that the running task makes a call."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (calls are made by tasks)
        self._calling[task] = model
        return task

    def leave(self, task: asyncio.Task[object]) -> bool:
        """Note that its call is over; True where it was `stop` that cancelled it (and nobody else did)."""
        self._calling.pop(task, None)
        if task not in self._stopped:
            return False
        self._stopped.discard(task)
        return task.uncancel() == 0
