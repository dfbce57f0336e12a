"""What the evaluations and the searches of a server share: made ready, worked on, cancelled and dropped by their tickets."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_optimizer.evaluation.plan import Limits
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.workflow import Workflow, restore
from merrow_server.evaluations.preparing import Choosing
from merrow_server.runs.orders import EvaluationOrder, SearchOrder, WorkflowText

Json = dict[str, Any]
Check = Callable[[WorkflowText], Workflow]


class _Closes(Protocol):
    async def close(self) -> None:
        """End what was opened for it."""


_Order = TypeVar("_Order", EvaluationOrder, SearchOrder)
_Ready = TypeVar("_Ready", bound=_Closes)
_Record = TypeVar("_Record", EvaluationRecord, OptimizationRecord)


class Ticketed(Generic[_Order, _Ready, _Record]):
    """Work that is ready or going on, by its tickets. All of it belongs to the thread of the runs."""

    what: ClassVar[str]
    """What it is called in a sentence."""

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        self._store = store
        self._choosing = choosing
        self._check = check
        self._ready: dict[int, tuple[_Ready, _Record | None]] = {}
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._open: set[int] = set()
        self._cancelled: set[int] = set()
        self._semantics: dict[str, str] = {}
        self.running: set[str] = set()
        """The ids of those that are worked on here."""

    async def prepare(self, order: _Order) -> Json:
        """Make it ready, to be worked on or dropped: what it may cost. Nothing is called.

        Raises `RunFailure`, with every mistake in the data and its place.
        """
        self._open.add(order.ticket)
        limits = Limits(*(order.budget.get(name) for name in ("usd", "tokens", "seconds")))
        try:
            ready, record, forecast = await self._prepare(order, limits)
        except BaseException:
            self._forget(order.ticket)
            raise
        self._ready[order.ticket] = ready, record
        return forecast

    @abstractmethod
    async def _prepare(self, order: _Order, limits: Limits) -> tuple[_Ready, _Record | None, Json]:
        """What is ready, its record where it goes on, and what it may cost."""

    def _check_idle(self, identity: str) -> None:
        """Raises `UsageFailure` where it is worked on here."""
        if identity in self.running:
            raise UsageFailure(f"{self.what.capitalize()} {identity} is going on here already.")

    async def drop(self, ticket: int) -> None:
        """Nobody wants it."""
        self._forget(ticket)
        found = self._ready.pop(ticket, None)
        if found is not None:
            await found[0].close()

    @asynccontextmanager
    async def _taken(self, ticket: int) -> AsyncIterator[tuple[_Ready, _Record | None]]:
        """What is ready, to be worked on; it is closed in the end. Raises `UsageFailure` where it was cancelled."""
        ready, record = self._ready.pop(ticket)
        try:
            if ticket in self._cancelled:
                raise UsageFailure(f"The {self.what} was cancelled before it began.")
            yield ready, record
        finally:
            self._forget(ticket)
            await ready.close()

    async def _finish(
        self, ticket: int, identity: str, work: Coroutine[Any, Any, Any], tell: Callable[[], None]
    ) -> None:
        """Work to the end, whatever that is. ``tell`` is called before and after."""
        tell()
        self._tasks[ticket] = task = asyncio.create_task(work)
        self.running.add(identity)
        try:
            await asyncio.wait([task])
        finally:
            self.running.discard(identity)
            del self._tasks[ticket]
        tell()
        if not task.cancelled():
            task.result()

    def cancel(self, ticket: int) -> bool:
        """Cancel the one with this number, begun or not, and keep what is finished; whether there is one."""
        if ticket in self._tasks:
            self._tasks[ticket].cancel()
        elif ticket in self._open:
            self._cancelled.add(ticket)
        return ticket in self._open

    def _forget(self, ticket: int) -> None:
        self._open.discard(ticket)
        self._cancelled.discard(ticket)

    async def close(self) -> None:
        """Cancel what goes on, and wait until the store says so."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for ticket in list(self._ready):
            await self.drop(ticket)

    def _changed(self, record: _Record, text: WorkflowText) -> bool:
        """Whether a text does something else than the workflow of a record. Both are read with the same options, so that another
        endpoint or model of the user's is not a change of the text. A text with errors is taken to be changed.
        """
        options = RunOptions(model=record.plan["asked"]["model"], seed=record.seed)
        try:
            if record.id not in self._semantics:
                self._semantics[record.id] = _semantic(restore(record.plan["snapshot"]), options)
            return _semantic(self._check(text), options) != self._semantics[record.id]
        except RunFailure:
            return True


def _semantic(workflow: Workflow, options: RunOptions) -> str:
    return semantic_hash(workflow, make_steps(workflow, options))
