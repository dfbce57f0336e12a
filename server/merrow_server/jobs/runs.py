"""The runs of one server: begun or resumed, followed, found while they go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.running.api import resume, start
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.database import Store, damaged_run
from merrow_runtime.workflow import Workflow, restore
from merrow_server.jobs.channel import EventChannel
from merrow_server.jobs.checked import check
from merrow_server.jobs.desk import Json, Kind, ReadyJob
from merrow_server.jobs.endpoints import Access, Endpoints
from merrow_server.jobs.orders import Hears, Order

if TYPE_CHECKING:
    from merrow_runtime.revising.reviser import Reviser
    from merrow_runtime.store.contract import NodeRecord


class RunJobs(Kind[Order, Hears, Json]):
    """The runs of a server; those in progress by their ids."""

    cancelled = "The run was cancelled before it began."

    def __init__(self, store: Callable[[], Store], endpoints: Endpoints) -> None:
        self._store, self._endpoints = store, endpoints
        self.going: dict[str, Run] = {}

    async def prepare(self, order: Order, told: Hears) -> ReadyJob[Json]:
        """``told`` hears of its id and its workflow's name, then of its events. Raises `RunFailure`."""
        store = self._store()
        workflow, base_url = _ordered(store, order)
        access = self._endpoints.take(base_url, workflow.machine, store.dialects)
        try:
            if order.workflow is not None:  # A run that is resumed keeps the model that it has.
                access = await asyncio.to_thread(_with_only_model, access, order, workflow)
        except BaseException:
            await self._endpoints.release(access)
            raise
        return _ReadyRun(self, store, self._endpoints, order, workflow, access, told)

    def nodes(self, run: str) -> list[NodeRecord]:
        """How the nodes of the run with exactly this id have ended so far. Raises `StoreFailure`."""
        here = self.going.get(run)
        return self._store().nodes(run) if here is None else list(here.nodes.values())

    def decide(self, run: str, number: int, *, apply: bool) -> str:
        """Apply or refuse a waiting revision of a run in progress here; returns the run's id. Raises `UsageFailure`."""
        here = [going for going in self.going.values() if going.id.startswith(run)]
        if len(here) != 1:
            raise UsageFailure(f"Run {run} does not continue here, so none of its revisions waits for you here.")
        here[0].decide(number, apply=apply)
        return here[0].id


class _ReadyRun(ReadyJob[Json]):
    """A run that can begin, or go on."""

    def __init__(
        self,
        jobs: RunJobs,
        store: Store,
        endpoints: Endpoints,
        order: Order,
        workflow: Workflow,
        access: Access,
        told: Hears,
    ) -> None:
        self._jobs, self._store, self._endpoints = jobs, store, endpoints
        self._order, self._workflow, self._access, self._told = order, workflow, access, told
        self._run: Run | None = None
        self._result: RunResult | None = None
        self._reader: asyncio.Task[None] | None = None
        self.forecast = {}

    def begin(self) -> str:
        run = self._run = self._start()
        self._jobs.going[run.id] = run
        self._told.begun(run.id, self._workflow.name)
        return run.id

    async def run(self) -> None:
        """Its events are reported to the last one, also where it is cancelled or fails internally."""
        run, told = self._run, self._told
        assert run is not None  # noqa: S101 (it has begun)
        self._reader = asyncio.create_task(_read(run, EventChannel(told.loop, told.deliver), self._access.notices))
        try:
            self._result = await run.result()
        except asyncio.CancelledError:
            run.cancel()
            self._result = await run.result()
            raise

    def ended(self) -> Json:
        result = self._result
        assert result is not None  # noqa: S101 (it has ended)
        return {"run": result.run, "status": result.status, **result.to_json()}

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader
        if self._run is not None:
            self._jobs.going.pop(self._run.id, None)
        await self._endpoints.release(self._access)

    def _start(self) -> Run:
        order, access, store = self._order, self._access, self._store
        options = RunOptions(
            model=order.model,
            default_model=access.model,
            concurrency=access.concurrency,
            budget_usd=order.budget.get("usd"),
            budget_tokens=order.budget.get("tokens"),
            budget_seconds=order.budget.get("seconds"),
            fresh=order.fresh,
            no_store=order.no_store,
            reuse=order.reuse,
            stream=True,
        )
        if order.resume is not None:
            return resume(order.resume, options=options, endpoint=access.endpoint, store=store, reviser=_reviser())
        workflow = self._workflow
        options = replace(
            options,
            from_node=order.from_node,
            from_run=order.from_run or self._last(),
            set_outputs=order.set_outputs,
            refine=order.refine,
        )
        refines = workflow.analysis.settings.refine is not None or order.refine is not None
        return start(
            workflow,
            order.inputs,
            options=options,
            endpoint=access.endpoint,
            store=None if order.no_store else store,
            reviser=_reviser() if refines else None,
        )

    def _last(self) -> str | None:
        """If results are to be reused from an unnamed run: the last one of the same workflow."""
        if not self._order.takes_over:
            return None
        name = self._workflow.name
        last = self._store.runs(1, name)
        if not last:
            raise UsageFailure(f"{name} was not run before, so nothing can be reused; run all of it.")
        return last[0].id


async def _read(run: Run, channel: EventChannel, notices: tuple[str, ...]) -> None:
    async for event in run.events():
        shown = event.to_json()
        if shown["event"] == "run_started" and notices:
            shown["notices"] = [*shown.get("notices", ()), *notices]
        channel.put(shown)


def _ordered(store: Store, order: Order) -> tuple[Workflow, str | None]:
    """The workflow that is ordered, and the endpoint's address where the journal says it."""
    if order.workflow is not None:
        return check(order.workflow), None
    record = store.run(order.resume or "")
    try:
        return restore(record.snapshot["workflow"]), record.snapshot.get("base_url")
    except (KeyError, TypeError, AttributeError):
        raise StoreFailure(damaged_run(record.id)) from None


def _with_only_model(access: Access, order: Order, workflow: Workflow) -> Access:
    chosen = ChosenEndpoint(access.endpoint, access.model, notices=access.notices, connection=access.connection)
    chosen = with_only_model(chosen, RunOptions(model=order.model), workflow.reached())
    return replace(access, model=chosen.model, notices=chosen.notices)


def _reviser() -> Reviser:
    """The model's reviser, which imports the optimizer."""
    from merrow_optimizer.revising.late import LateReviser

    return LateReviser()
