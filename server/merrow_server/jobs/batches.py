"""The batches of one server: evaluations that score nothing, listed by themselves."""

from __future__ import annotations

from collections.abc import Callable

from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_server.evaluations.batch_data import batch_object
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.jobs.desk import Json
from merrow_server.jobs.evaluations import EvaluationJobs
from merrow_server.jobs.places import place_of
from merrow_server.jobs.recorded import Check


class BatchJobs(EvaluationJobs):
    """The batches of a server; they are made ready and worked on as evaluations are."""

    what = "Batch"
    cancelled = "The batch was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check, here: Callable[[], set[str]]) -> None:
        super().__init__(store, choosing, check, here)
        self._kept = store.batches

    def _read(self, record: EvaluationRecord) -> Json:
        return {**batch_object(self._store, record), **place_of(record.workflow)}
