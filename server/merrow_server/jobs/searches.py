"""The searches of one server: made ready, worked on, listed, reported."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.data.names import short_name
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.optimization.plan import Bounded
from merrow_optimizer.optimization.record import SearchRecord, load
from merrow_optimizer.optimization.rounds import BEST
from merrow_optimizer.optimization.sessions import begin, work
from merrow_optimizer.search.candidates import START
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import SHOWN, OptimizationRecord
from merrow_server.continuing import changed_by
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.jobs.desk import Json, ReadyJob
from merrow_server.jobs.orders import EditorWorkflow, SearchOrder
from merrow_server.jobs.places import place_of
from merrow_server.jobs.recorded import Check, ProgressReporter, Recorded, Told
from merrow_server.optimizations.pages import write_report
from merrow_server.optimizations.prepared_search import (
    PreparedSearch,
    SearchAsked,
    plan_object,
    prepare_search,
    prepare_search_again,
)
from merrow_server.optimizations.search_data import search_object
from merrow_server.optimizations.search_words import plan_lines, report_lines
from merrow_server.rendering.counts import counted
from merrow_server.results.candidates import candidate_of

_OLDER = 5
"""Searches of a workflow that are looked at for the newest one that found something better."""
_BOUNDLESS = 10**8
"""Answers above which a budget does not say how far a search is."""


class SearchJobs(Recorded[SearchOrder, OptimizationRecord]):
    """The searches of a server."""

    what = "Search"
    cancelled = "The search was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check, here: Callable[[], set[str]]) -> None:
        super().__init__(store, store.optimizations, choosing, check, here)

    async def prepare(self, order: SearchOrder, told: Told) -> ReadyJob[Json]:
        """Raises `RunFailure`, with every mistake in the data and its place."""
        record = None
        if order.resume is None:
            assert order.workflow is not None  # noqa: S101 (a new one is of a text)
            asked = EvaluationRequest(**order.asked, limits=EvaluationLimits(**order.budget))
            given = dict(order.search)
            wanted = SearchAsked(
                asked,
                seed=asked.seed,
                bounds=Bounded(**given.pop("bounds", {})),
                **given,
            )
            prepared = await prepare_search(self._check(order.workflow), wanted, self._store, self._choosing)
        else:
            record = self._idle(order.resume)
            prepared = await prepare_search_again(
                record, self._store, changed_by(order.asked, order.budget), self._choosing
            )
        return _ReadySearch(self, self._store, prepared, record, order.out, told)

    def report(self, search: str) -> Json:
        """A search, with its report as a page in ``html`` and in words in ``text``."""
        from merrow_server.optimizations.search_html import as_html

        search_record = load(self._store, search)
        return {
            **self.object(search_record.search),
            "html": as_html(search_record),
            "text": "\n".join(report_lines(search_record, whole=True)),
        }

    def candidate(self, search: str, number: int) -> Json:
        """One candidate beside the workflow that the search began with, as `better` has the best. Raises `UsageFailure`."""
        search_record = load(self._store, search)
        chosen = candidate_of(search_record, number)
        return {
            **self.object(search_record.search),
            "before": search_record.candidates[START].text,
            "after": chosen.text,
            "title": chosen.title,
            "file": str(Path(search_record.search.plan["folder"]) / chosen.file),
        }

    def better(self, search: str) -> Json:
        """The best workflow of a search beside the one that it began with: ``before`` and ``after`` are their texts, ``file`` is
        that of the best. Raises `UsageFailure` where none is better.
        """
        search_record = load(self._store, search)
        if not search_record.candidates or search_record.crown == START:
            raise UsageFailure(f"Search {search_record.id} has found no better workflow.")
        crown = search_record.candidates[search_record.crown]
        folder = Path(search_record.search.plan["folder"])
        return {
            **self.object(search_record.search),
            "before": search_record.candidates[START].text,
            "after": crown.text,
            "title": crown.title,
            "file": str(folder / (BEST if search_record.is_complete else crown.file)),
            "text": "\n".join(report_lines(search_record, whole=False)),
        }

    def last(self, text: EditorWorkflow) -> Json | None:
        """The newest search that found a better version of a workflow as it is now, shown on held-out items; None where none
        did, and where the text does something else now.
        """
        for record in self._store.optimizations.newest(_OLDER, text.name):
            held_out = record.held_out
            if held_out is None or held_out["p"] is None or held_out["p"] >= 0.05 or held_out["difference"] <= 0:
                continue
            return None if self._changed(record, text) else self.object(record)
        return None

    def _read(self, record: OptimizationRecord) -> Json:
        return {**search_object(load(self._store, record.id)), **place_of(record.workflow)}


class _ReadySearch(ReadyJob[Json]):
    """A search that can begin, or go on where it has a record; ``out`` is the folder for its candidates where one is named."""

    def __init__(
        self,
        jobs: SearchJobs,
        store: Store,
        prepared: PreparedSearch,
        record: OptimizationRecord | None,
        out: str | None,
        told: Told,
    ) -> None:
        self._jobs, self._store, self._told = jobs, store, told
        self._prepared, self._record, self._out = prepared, record, out
        plan = prepared.plan
        self.forecast = {
            **plan_object(prepared),
            "endpoint": plan.base.chosen.endpoint.origin,
            "model": plan.base.model,
            "free": plan.forecast.cost_usd.most == 0 and plan.proposing is None,
            "text": "\n".join(plan_lines(plan, short_name(prepared.data.file), prepared.data.part)),
        }
        self.consent = None if self.forecast["free"] else self.forecast["text"]

    def begin(self) -> str:
        prepared, data = self._prepared, self._prepared.data
        if self._record is None:
            self._record = begin(self._store, prepared.plan, data.hash, data.part, prepared.again, self._out)
        return self._record.id

    async def run(self) -> None:
        """``told`` is called with how far it is, as `_SearchReporter` has it. Raises also `UsageFailure` where it can't continue
        as it began.
        """
        assert self._record is not None  # noqa: S101 (it has begun)
        plan, record = self._prepared.plan, self._record
        telling = _SearchReporter(record.id, plan.evaluations, load(self._store, record.id), self._told)
        telling.tell()
        try:
            await work(self._store, record, plan, telling.take)
        finally:
            telling.tell()

    def ended(self) -> Json:
        assert self._record is not None  # noqa: S101 (it has begun)
        search_record = load(self._store, self._record.id)
        with contextlib.suppress(UsageFailure):  # What can't be written is shown from the journal.
            write_report(search_record)
        return self._jobs.object(search_record.search)

    async def close(self) -> None:
        await self._prepared.close()


class _SearchReporter(ProgressReporter):
    """``{search, done, total, text, crown, told}``; ``total`` is 0 where no number of answers bounds it."""

    def __init__(self, search: str, evaluations: int, search_record: SearchRecord, told: Told) -> None:
        super().__init__(told)
        self._search = search
        self._total = 0 if evaluations > _BOUNDLESS else evaluations
        self._done, self._candidates = search_record.answers, len(search_record.candidates)
        self._crown, self._score = search_record.crown, search_record.told
        self._reading = ""

    def take(self, event: Mapping[str, Any]) -> None:
        """Something happened."""
        kind = event["event"]
        if kind == "answer" and event["draw"] != SHOWN:
            self._done += not self._reading
        elif kind == "candidate":
            self._candidates += 1
        elif kind == "crown" or (kind == "draw" and event["draw"] == 1):
            self._crown = event["candidate"]
            self._score = event["told"] if kind == "crown" else event["score"]
        elif kind == "held_out_started":
            self._reading = f"; reading {event['items']:,} held-out items"
        self.soon()

    def news(self) -> Json:
        best = "nothing scored yet"
        if self._score is not None:
            name = "the start" if self._crown == START else f"round {self._crown}"
            best = f"best so far: {name}, estimated {self._score:.3f}"
        many = counted(self._candidates, "candidate")
        return {
            "search": self._search,
            "done": self._done,
            "total": self._total,
            "text": f"{best}; {many}{self._reading}",
            "crown": self._crown,
            "told": self._score,
        }
