"""What the thread of the jobs has for one server: its journal, its endpoints, its desk, and a room for each kind of job."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from merrow_runtime.errors import RunFailure, StoreFailure
from merrow_runtime.models.selection import EndpointChoice
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow
from merrow_server.choosing_models import asked_in, unserved
from merrow_server.jobs.checked import check
from merrow_server.jobs.desk import Desk, Json, Kind
from merrow_server.jobs.endpoints import Endpoints
from merrow_server.jobs.keys import Keys
from merrow_server.jobs.orders import EditorWorkflow, Order
from merrow_server.jobs.runs import RunJobs

if TYPE_CHECKING:
    from merrow_server.jobs.case_jobs import CaseJobs
    from merrow_server.jobs.results import ResultTables

T = TypeVar("T")
_KINDS = {
    "evaluation": ("evaluations", "EvaluationJobs"),
    "batch": ("batches", "BatchJobs"),
    "search": ("searches", "SearchJobs"),
    "extraction": ("extractions", "ExtractionJobs"),
    "plan": ("asking_orders", "PlanJobs"),
    "suggestion": ("asking_orders", "SuggestionJobs"),
    "reproduction": ("reproductions", "ReproductionJobs"),
}
"""The module and the class of each kind other than runs, which import the optimizer."""


class Session:
    """All of this belongs to one thread's event loop. The kinds other than runs are made on first use, because they import the
    optimizer; that raises `StoreFailure`.
    """

    def __init__(self, keys: Keys) -> None:
        self._endpoints = Endpoints(keys)
        self._store: Store | None = None
        self._kinds: dict[str, Kind[Any, Any, Any]] = {}
        self._results: ResultTables | None = None
        self.desk = Desk(lambda: self.store)
        self.runs = RunJobs(lambda: self.store, self._endpoints)

    def kind(self, what: str) -> Any:
        """What works on an evaluation, a batch, a search, an extraction, a plan, a suggestion or a reproduction."""
        if what not in self._kinds:
            self._kinds[what] = self._kind(what, self.store)
        return self._kinds[what]

    def _kind(self, what: str, store: Store) -> Kind[Any, Any, Any]:
        module, name = _KINDS[what]
        made: type[Kind[Any, Any, Any]] = getattr(import_module(f"merrow_server.jobs.{module}"), name)
        return made(store, self._endpoints.own, check, lambda: self.desk.here)  # type: ignore[call-arg] # as all of these take

    @cached_property
    def cases(self) -> CaseJobs:
        """The cases of workflows."""
        from merrow_server.jobs.case_jobs import CaseJobs

        return CaseJobs(self.store, self._endpoints, check)

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

    def look_at(self, what: str, look: Callable[[Any], T]) -> T:
        """What ``look`` gives of a kind's jobs, which only reads; also where nothing can be written. Raises `StoreFailure`."""
        with self.reading() as store:
            return look(self.kind(what) if store is self._store else self._kind(what, store))

    def results(self, look: Callable[[ResultTables], T]) -> T:
        """What ``look`` gives of the tables of results; also where nothing can be written. Raises `StoreFailure`."""
        from merrow_server.jobs.results import ResultTables

        with self.reading() as store:
            if store is not self._store:
                return look(ResultTables(store))
            if self._results is None:
                self._results = ResultTables(store)
            return look(self._results)

    def plan(self, order: Order) -> Json:
        """What a run would do, with ``findings`` on models that the endpoint doesn't list and those that are ``served``. Raises
        `UsageFailure`.
        """
        assert order.workflow is not None  # noqa: S101 (a dry run is of a text)
        workflow = check(order.workflow)
        choice = self._endpoints.choose(None, workflow.machine)
        chosen = _chosen(choice, order.model, workflow)
        options = RunOptions(model=order.model, default_model=chosen.model)
        forecast = dry_run(workflow, order.inputs, options=options, endpoint=chosen.endpoint)
        lacking = unserved(choice, asked_in(forecast))
        return {**forecast.to_json(), "findings": list(lacking.findings), "served": list(lacking.served)}

    def answering(self, text: EditorWorkflow | None, model: str | None) -> Json:
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
        await self.desk.close()
        if self._store is not None:
            self._store.close()
            self._store = None


def _chosen(choice: EndpointChoice, model: str | None, workflow: Workflow | None) -> ChosenEndpoint:
    """What would answer a run of a workflow, or of any, with ``model``, if that is set. Raises `UsageFailure`."""
    chosen = ChosenEndpoint(choice.open(), choice.model, connection=choice.connection)
    return with_only_model(chosen, RunOptions(model=model), None if workflow is None else workflow.reached())
