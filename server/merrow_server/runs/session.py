"""The runs of one server, in the thread that works on them: started, followed, cancelled, closed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_runtime.errors import RunFailure, StoreFailure, UsageFailure
from merrow_runtime.models.selection import EndpointChoice
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.program.loading import configuration
from merrow_runtime.program.workspace import Surroundings
from merrow_runtime.running.api import resume, start
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import Chosen
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.database import Store, damaged_run
from merrow_runtime.workflow import Workflow, check_workflow, restore
from merrow_server.kept_work import request_cancel
from merrow_server.runs.channel import Channel, Json
from merrow_server.runs.endpoints import Access, Endpoints
from merrow_server.runs.keys import Keys
from merrow_server.runs.orders import CasesOrder, Order, WorkflowText

if TYPE_CHECKING:
    from merrow_runtime.revising.reviser import Reviser
    from merrow_runtime.store.contract import NodeRecord
    from merrow_server.runs.evaluating import Evaluations
    from merrow_server.runs.planning import Plans
    from merrow_server.runs.searching import Searches
    from merrow_server.runs.suggesting import Suggestions


class Session:
    """Runs and their journal. All of this belongs to one thread's event loop."""

    def __init__(self, keys: Keys) -> None:
        self._endpoints = Endpoints(keys)
        self._store: Store | None = None
        self._runs: set[Run] = set()
        self._tests: set[asyncio.Future[Json]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._evaluations: Evaluations | None = None
        self._suggestions: Suggestions | None = None
        self._searches: Searches | None = None
        self._plans: Plans | None = None

    @property
    def evaluations(self) -> Evaluations:
        """The evaluations, created on first use because they import the optimizer. Raises `StoreFailure`."""
        if self._evaluations is None:
            from merrow_server.runs.evaluating import Evaluations

            self._evaluations = Evaluations(self.store, self._endpoints.own, check)
        return self._evaluations

    @property
    def suggestions(self) -> Suggestions:
        """The suggestions from a model, created on first use because they import the optimizer. Raises `StoreFailure`."""
        if self._suggestions is None:
            from merrow_server.runs.suggesting import Suggestions

            self._suggestions = Suggestions(self.store, self._endpoints.own, check)
        return self._suggestions

    @property
    def searches(self) -> Searches:
        """The searches, created on first use. Raises `StoreFailure`."""
        if self._searches is None:
            from merrow_server.runs.searching import Searches

            self._searches = Searches(self.store, self._endpoints.own, check)
        return self._searches

    @property
    def plans(self) -> Plans:
        """The plans, created on first use. Raises `StoreFailure`."""
        if self._plans is None:
            from merrow_server.runs.planning import Plans

            self._plans = Plans(self.store, self._endpoints.own)
        return self._plans

    def _rooms(self) -> Iterator[Evaluations | Plans | Searches | Suggestions]:
        """The other work with tickets, besides runs and tests, as far as it has been created."""
        for room in (self._evaluations, self._plans, self._searches, self._suggestions):
            if room is not None:
                yield room

    @property
    def store(self) -> Store:
        """The user's journal, opened when it is first needed. Raises `StoreFailure`."""
        if self._store is None:
            self._store = Store.open()
        return self._store

    @contextlib.contextmanager
    def reading(self) -> Iterator[Store]:
        """The journal for who only reads it, which may be where nothing can be written. Raises `StoreFailure`."""
        try:
            known: Store | None = self.store
        except StoreFailure:
            known = None
        if known is not None:
            yield known
            return
        # Not kept: once the disk has space again, the journal is opened for writing.
        with contextlib.closing(Store.open(reading=True)) as opened:
            yield opened

    @property
    def running(self) -> set[str]:
        """The ids of the runs in progress here."""
        return {run.id for run in self._runs}

    def nodes(self, run: str) -> list[NodeRecord]:
        """How the nodes of the run with exactly this id have ended so far. Raises `StoreFailure`."""
        here = next((one for one in self._runs if one.id == run), None)
        return self.store.nodes(run) if here is None else list(here.nodes.values())

    async def carry_out(self, order: Order, begun: Callable[[str, str], None], channel: Channel) -> Json:
        """Run to the end; returns how it ended. ``begun`` is called with the run's id and its workflow's name.

        Raises `RunFailure` if it can't start.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (this is a coroutine of a task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if order.ticket.is_cancelled:
            raise UsageFailure("The run was cancelled before it began.")
        workflow, base_url = self._workflow(order)
        access = self._endpoints.take(base_url, workflow.machine, self.store.dialects)
        try:
            if order.workflow is not None:  # A run that is resumed keeps the model that it has.
                access = await asyncio.to_thread(_with_only_model, access, order, workflow)
            run = self._begin(order, workflow, access)
            self._runs.add(run)
            begun(run.id, workflow.name)
            try:
                with order.ticket.stopped_by(run.cancel):
                    return _ended(await _followed(run, channel, access.notices))
            finally:
                self._runs.discard(run)
        finally:
            await self._endpoints.release(access)

    async def test(self, order: CasesOrder, told: Callable[[Json], None]) -> Json:
        """Run cases to their end, or until they are cancelled; see `merrow_server.runs.testing`. Raises `RunFailure`."""
        from merrow_server.runs.testing import carry_out

        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (this is a coroutine of a task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if order.ticket.is_cancelled:
            return {"whole": False}
        work = asyncio.ensure_future(carry_out(order, check(order.workflow), self.store, self._endpoints, told))
        self._tests.add(work)
        try:
            with order.ticket.stopped_by(work.cancel):
                return await work
        except asyncio.CancelledError:
            if not work.cancelled():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                raise
            return {"whole": False}
        finally:
            self._tests.discard(work)

    def decide(self, run: str, number: int, *, apply: bool) -> str:
        """Apply or refuse a waiting revision of a run in progress here; returns the run's id. Raises `UsageFailure`."""
        here = [one for one in self._runs if one.id.startswith(run)]
        if len(here) != 1:
            raise UsageFailure(f"Run {run} does not continue here, so none of its revisions waits for you here.")
        here[0].decide(number, apply=apply)
        return here[0].id

    def cancel(self, said: str) -> str | None:
        """Cancel a run, an evaluation, a search or an extraction by its id or the beginning of it, whichever process works on it;
        its id, None where no process does.

        Raises `UsageFailure` where there is none of this id, `StoreFailure`.
        """
        here = [one for one in self._runs if one.id.startswith(said)]
        if len(here) == 1:
            here[0].cancel()
            return here[0].id
        asked = request_cancel(self.store, said)
        return asked.id if asked.is_heard else None

    def plan(self, order: Order) -> Json:
        """What a run would do. Raises `UsageFailure`."""
        assert order.workflow is not None  # noqa: S101 (a dry run is of a text)
        workflow = check(order.workflow)
        choice = self._endpoints.choose(None, workflow.machine)
        chosen = _chosen(choice, order.model, workflow)
        options = RunOptions(model=order.model, default_model=chosen.model)
        return dry_run(workflow, order.inputs, options=options, endpoint=chosen.endpoint).to_json()

    def answering(self, text: WorkflowText | None, model: str | None) -> Json:
        """What would answer a run: ``{endpoint, source, key, models}``. ``key`` says whether one is sent, ``models`` are those
        that the nodes name or would get. For a text with errors only the endpoint is certain. Raises `UsageFailure`.
        """
        workflow = None
        if text is not None:
            with contextlib.suppress(RunFailure):
                workflow = check(text)
        choice = self._endpoints.choose(None, [] if workflow is None else workflow.machine)
        default = choice.model
        with contextlib.suppress(RunFailure):
            default = _chosen(choice, model, workflow).model
        models = [model or default or DEFAULT_MODEL]
        if workflow is not None:
            with contextlib.suppress(RunFailure):
                steps = make_steps(workflow, RunOptions(model=model, default_model=default)).values()
                models = list(dict.fromkeys(step.definition.model for step in steps)) or models
        return {"endpoint": choice.origin, "source": choice.source, "key": bool(choice.key_source), "models": models}

    async def close(self) -> None:
        """Cancel work in progress, wait until the journal says so, and close it."""
        for run in self._runs:
            run.cancel()
        for room in self._rooms():
            await room.close()
        for test in self._tests:
            test.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._store is not None:
            self._store.close()
            self._store = None

    def _workflow(self, order: Order) -> tuple[Workflow, str | None]:
        """The workflow that is ordered, and the endpoint's address where the journal says it."""
        if order.workflow is not None:
            return check(order.workflow), None
        record = self.store.run(order.resume or "")
        try:
            return restore(record.snapshot["workflow"]), record.snapshot.get("base_url")
        except (KeyError, TypeError, AttributeError):
            raise StoreFailure(damaged_run(record.id)) from None

    def _begin(self, order: Order, workflow: Workflow, access: Access) -> Run:
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
            return resume(order.resume, options=options, endpoint=access.endpoint, store=self.store, reviser=_reviser())
        options = replace(
            options,
            from_node=order.from_node,
            from_run=order.from_run or self._last(order, workflow),
            set_outputs=order.set_outputs,
            refine=order.refine,
        )
        store = None if order.no_store else self.store
        refines = workflow.analysis.settings.refine is not None or order.refine is not None
        reviser = _reviser() if refines else None
        return start(workflow, order.inputs, options=options, endpoint=access.endpoint, store=store, reviser=reviser)

    def _last(self, order: Order, workflow: Workflow) -> str | None:
        """If results are to be reused from an unnamed run: the last one of the same workflow."""
        if not order.takes_over:
            return None
        last = self.store.runs(1, workflow.name)
        if not last:
            raise UsageFailure(f"{workflow.name} was not run before, so nothing can be reused; run all of it.")
        return last[0].id


def _reviser() -> Reviser:
    """The model's reviser, which imports the optimizer."""
    from merrow_optimizer.revising.late import LateReviser

    return LateReviser()


def check(text: WorkflowText) -> Workflow:
    """The workflow of a text, checked. Raises `UsageFailure` where it has errors."""
    return check_workflow(
        text.text,
        name=text.name,
        path=text.path,
        provider=text.provider,
        config=text.config,
        fence=text.fence,
        shared=() if text.file is None else _machine(text.file),
        analysis=text.analysis,
    )


def _machine(file: Path) -> tuple[WorkspaceValue, ...]:
    """Settings about the machine in a workflow's settings file."""
    try:
        return configuration(Surroundings(), file)[2]
    except RunFailure:
        return ()  # The editor has shown it.


async def _followed(run: Run, channel: Channel, notices: tuple[str, ...]) -> RunResult:
    """The result of a run, whose events are reported meanwhile, to the last one: also of a run that fails internally."""

    async def read() -> None:
        async for event in run.events():
            shown = event.to_json()
            if shown["event"] == "run_started" and notices:
                shown["notices"] = [*shown.get("notices", ()), *notices]
            channel.put(shown)

    reader = asyncio.create_task(read())
    try:
        return await run.result()
    except asyncio.CancelledError:
        run.cancel()
        await run.result()
        raise
    finally:
        await reader


def _chosen(choice: EndpointChoice, model: str | None, workflow: Workflow | None) -> Chosen:
    """What would answer a run of a workflow, or of any, with ``model``, if that is set. Raises `UsageFailure`."""
    chosen = Chosen(choice.open(), choice.model, connection=choice.connection)
    return with_only_model(chosen, RunOptions(model=model), None if workflow is None else workflow.reached())


def _with_only_model(access: Access, order: Order, workflow: Workflow) -> Access:
    chosen = Chosen(access.endpoint, access.model, notices=access.notices, connection=access.connection)
    chosen = with_only_model(chosen, RunOptions(model=order.model), workflow.reached())
    return replace(access, model=chosen.model, notices=chosen.notices)


def _ended(result: RunResult) -> Json:
    return {"run": result.run, "status": result.status, **result.to_json()}
