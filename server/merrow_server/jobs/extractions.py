"""The extractions of one server: made ready, worked on, their files written, listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from merrow_optimizer.evaluation.data.names import short_name
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.extraction.extraction_report import files, library
from merrow_optimizer.extraction.extractor import Told as Steps
from merrow_optimizer.extraction.plan import ExtractionSettings
from merrow_optimizer.extraction.sessions import begin, work
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_server.continuing import changed_by
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.extractions.extraction_data import extraction_object, plan_object
from merrow_server.extractions.extraction_html import as_html
from merrow_server.extractions.extraction_words import ended_text, plan_lines
from merrow_server.extractions.files import check_place, report_files, write_files
from merrow_server.extractions.prepared_extraction import (
    ExtractionAsked,
    PreparedExtraction,
    prepare_extraction,
    prepare_extraction_again,
)
from merrow_server.jobs.desk import Json, ReadyJob
from merrow_server.jobs.orders import ExtractionOrder
from merrow_server.jobs.places import place_of
from merrow_server.jobs.recorded import Check, Recorded


class ExtractionJobs(Recorded[ExtractionOrder, ExtractionRecord]):
    """The extractions of a server; ``told`` hears what is done, how much of it, and of how much."""

    what = "Extraction"
    cancelled = "The extraction was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check, here: Callable[[], set[str]]) -> None:
        super().__init__(store, store.extractions, choosing, check, here)

    async def prepare(self, order: ExtractionOrder, told: Steps) -> ReadyJob[Json]:  # type: ignore[override]  # what it hears
        """Raises `RunFailure`, with every mistake in the data and its place, and where the files can't be written."""
        record = None
        if order.resume is None:
            asked = EvaluationRequest(**order.asked, limits=EvaluationLimits(**order.budget))
            wanted = ExtractionAsked(asked, ExtractionSettings(**order.settings), **order.files)
            check_place(Path(wanted.out))
            prepared = await prepare_extraction(wanted, self._store, self._choosing)
        else:
            record = self._idle(order.resume)
            changes = changed_by(order.asked, order.budget)
            prepared = await prepare_extraction_again(record, self._store, changes, self._choosing)
        return _ReadyExtraction(self, self._store, prepared, record, told)

    def report(self, extraction: str) -> Json:
        """One with its report as a page in ``html``, null where there is none, and in words in ``text``."""
        shown = self.object(self._kept.get(extraction))
        report = shown["report"]
        html = None if report is None or report["why_nothing"] is not None else as_html(report)
        return {**shown, "html": html, "text": ended_text(shown)}

    def _read(self, record: ExtractionRecord) -> Json:
        page = report_files(Path(record.plan["out"]))[1]
        made = extraction_object(self._store, record)
        written = made["report"] is not None and made["report"]["why_nothing"] is None
        return {**made, "page": str(page) if written else None, **place_of(record.cases)}


class _ReadyExtraction(ReadyJob[Json]):
    """An extraction that can begin, or go on where it has a record."""

    def __init__(
        self,
        jobs: ExtractionJobs,
        store: Store,
        prepared: PreparedExtraction,
        record: ExtractionRecord | None,
        told: Steps,
    ) -> None:
        self._jobs, self._store, self._prepared, self._record, self._told = jobs, store, prepared, record, told
        plan, data = prepared.plan, prepared.data
        origin = plan.base.chosen.endpoint.origin
        self.forecast = {
            **plan_object(prepared),
            "endpoint": origin,
            "free": origin == OFFLINE_ORIGIN or prepared.again["replay"] is not None,
            "text": "\n".join(plan_lines(plan, short_name(data.file), data.part)),
        }
        self.consent = None if self.forecast["free"] else self.forecast["text"]

    def begin(self) -> str:
        prepared, data = self._prepared, self._prepared.data
        if self._record is None:
            self._record = begin(self._store, prepared.plan, str(data.file), data.hash, data.part, prepared.again)
        return self._record.id

    async def run(self) -> None:
        """Raises also `UsageFailure` where its files can't be written: what was found is kept, and a resume writes it."""
        assert self._record is not None  # noqa: S101 (it has begun)
        extractor = await work(self._store, self._record, self._prepared.plan, self._told)
        report = extraction_object(self._store, self._store.extractions.get(self._record.id))["report"]
        if extractor.stopped_by is None and report is not None and report["why_nothing"] is None:
            write_files(self._prepared.out, library(extractor), files(extractor), report)

    def ended(self) -> Json:
        assert self._record is not None  # noqa: S101 (it has begun)
        return self._jobs.object(self._store.extractions.get(self._record.id))

    async def close(self) -> None:
        await self._prepared.close()
