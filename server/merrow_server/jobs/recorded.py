"""What the jobs of a server share that have a record in the journal, by which they are listed and go on later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.jobs.life import JobRow, delete
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.listed import Listed
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.workflow import Workflow, restore
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.jobs.desk import JobOrder, Json, Kind
from merrow_server.jobs.orders import EditorWorkflow

Check = Callable[[EditorWorkflow], Workflow]
Told = Callable[[Json], None]
_PAUSE = 0.1
"""Seconds between two tellings of how far something is."""

_Order = TypeVar("_Order", bound=JobOrder)
_Record = TypeVar("_Record", bound=JobRow)


class ListedJobs(Generic[_Record]):
    """The rows in the journal of one kind of job, in ``kept``; ``here`` says the ids of those that are worked on here."""

    what: ClassVar[str]
    """What one is called at the beginning of a sentence."""

    def __init__(self, store: Store, kept: Listed[_Record], here: Callable[[], set[str]]) -> None:
        self._store, self._kept, self._here = store, kept, here
        self._known: dict[tuple[Any, ...], Json] = {}

    def list(self, workflow: str | None, limit: int) -> list[Json]:
        """The newest, newest first, of one workflow where its name is given."""
        return [self.object(record) for record in self._kept.newest(limit, workflow)]

    def delete(self, prefix: str) -> str:
        """Take one out; its id. Raises `StoreFailure` while a process works on it."""
        identity = self._kept.id_of(prefix)
        delete(self._store, self._kept, identity)
        return identity

    def object(self, record: _Record) -> Json:
        """One in a list; what has ended stays as it is, so it is read once."""
        key = record.id, record.status, record.ended
        if key not in self._known or record.status == "running":
            self._known[key] = self._read(record)
        return {**self._known[key], "here": record.id in self._here()}

    def _read(self, record: _Record) -> Json:
        raise NotImplementedError

    def _idle(self, prefix: str) -> _Record:
        """The record of one that goes on. Raises `UsageFailure` where it is worked on here."""
        record = self._kept.get(prefix)
        if record.id in self._here():
            raise UsageFailure(f"{self.what} {record.id} is running here already.")
        return record


class Recorded(Kind[_Order, Told, Json], ListedJobs[_Record], Generic[_Order, _Record]):
    """Jobs of workflows, cases or papers, which have a row in the journal; ``choosing`` chooses the endpoint, ``check`` checks a
    text.
    """

    def __init__(
        self, store: Store, kept: Listed[_Record], choosing: Choosing, check: Check, here: Callable[[], set[str]]
    ) -> None:
        super().__init__(store, kept, here)
        self._choosing, self._check = choosing, check
        self._semantics: dict[str, str] = {}

    def _changed(self, record: EvaluationRecord | OptimizationRecord, text: EditorWorkflow) -> bool:
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


class ProgressReporter:
    """Tells how far a job is, a few times a second at most: what ``news`` says then."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._timer: asyncio.Handle | None = None

    def news(self) -> Json:
        """How far it is now."""
        raise NotImplementedError

    def soon(self) -> None:
        """There is something to tell."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self.tell)

    def tell(self) -> None:
        """Tell it now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._told(self.news())


def _semantic(workflow: Workflow, options: RunOptions) -> str:
    return semantic_hash(workflow, make_steps(workflow, options))
