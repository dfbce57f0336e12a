"""The reproductions of one server: made ready, worked on, listed, reported."""

from __future__ import annotations

from collections.abc import Callable

from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord
from merrow_server.continuing import changed_by
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.jobs.desk import Json, ReadyJob
from merrow_server.jobs.orders import ReproductionOrder
from merrow_server.jobs.recorded import Check, Recorded
from merrow_server.reproductions.carrying import Told as Rows
from merrow_server.reproductions.carrying import work
from merrow_server.reproductions.prepared import (
    KIND,
    PreparedReproduction,
    plan_object,
    prepare,
    prepare_reproduction_again,
)
from merrow_server.reproductions.table import reproduction_object


class ReproductionJobs(Recorded[ReproductionOrder, JobRecord]):
    """The reproductions of a server; ``told`` hears which row is worked on, how many are done, and of how many."""

    what = "Reproduction"
    cancelled = "The reproduction was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check, here: Callable[[], set[str]]) -> None:
        super().__init__(store, store.jobs[KIND], choosing, check, here)

    async def prepare(self, order: ReproductionOrder, told: Rows) -> ReadyJob[Json]:  # type: ignore[override]  # what it hears
        """Raises `RunFailure`."""
        record = None
        if order.resume is None:
            assert order.request is not None  # noqa: S101 (a new one is of a paper)
            prepared = await prepare(order.request, self._store, self._choosing)
        else:
            record = self._idle(order.resume)
            changes = changed_by({}, order.budget)
            prepared = await prepare_reproduction_again(record, self._store, changes, self._choosing)
        return _ReadyReproduction(self, self._store, prepared, record, told)

    def report(self, reproduction: str) -> Json:
        """One with its table as a page in ``html`` and in words in ``text``."""
        from merrow_server.reproductions.page import as_html
        from merrow_server.reproductions.words import report_lines

        shown = self.object(self._kept.get(reproduction))
        return {**shown, "html": as_html(shown), "text": "\n".join(report_lines(shown))}

    def _read(self, record: JobRecord) -> Json:
        return reproduction_object(self._store, record)


class _ReadyReproduction(ReadyJob[Json]):
    """A reproduction that can begin, or go on where it has a record."""

    def __init__(
        self,
        jobs: ReproductionJobs,
        store: Store,
        prepared: PreparedReproduction,
        record: JobRecord | None,
        told: Rows,
    ) -> None:
        from merrow_server.reproductions.words import sum_lines

        self._jobs, self._store, self._prepared, self._record, self._told = jobs, store, prepared, record, told
        plan = plan_object(prepared)
        self.forecast = {
            **plan,
            "free": prepared.request.simulate,
            "text": "\n".join(sum_lines(plan)),
            "notices": list(prepared.chosen.notices),
        }
        self.consent = None if self.forecast["free"] else self.forecast["text"]

    def begin(self) -> str:
        """Raises `UsageFailure` where no row can be run."""
        self._prepared.check_runs()
        if self._record is None:
            self._record = self._prepared.begin()
        return self._record.id

    async def run(self) -> None:
        assert self._record is not None  # noqa: S101 (it has begun)
        await work(self._store, self._record, self._prepared, self._told)

    def ended(self) -> Json:
        assert self._record is not None  # noqa: S101 (it has begun)
        return self._jobs.object(self._store.jobs[KIND].get(self._record.id))

    async def close(self) -> None:
        await self._prepared.close()
