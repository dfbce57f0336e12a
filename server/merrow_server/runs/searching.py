"""The searches of one server, in the thread of its runs: made ready, worked on, cancelled, listed, reported."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.evaluation.sessions import delete
from merrow_optimizer.optimization.plan import Bounded
from merrow_optimizer.optimization.record import SearchRecord, load
from merrow_optimizer.optimization.rounds import BEST
from merrow_optimizer.optimization.sessions import begin, work
from merrow_optimizer.search.candidates import START
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import SHOWN, OptimizationRecord
from merrow_server.evaluations.preparing import Asked, Choosing
from merrow_server.optimizations.pages import write_report
from merrow_server.optimizations.preparing import (
    PreparedSearch,
    SearchAsked,
    plan_object,
    prepare_search,
    prepare_search_again,
)
from merrow_server.optimizations.report import search_object
from merrow_server.optimizations.words import plan_lines, report_lines
from merrow_server.rendering.counts import counted
from merrow_server.runs.journalled import Check, Journalled
from merrow_server.runs.orders import SearchOrder, WorkflowText
from merrow_server.runs.places import place_of
from merrow_server.runs.ticket import Ticket
from merrow_server.runs.tickets import Json

_PAUSE = 0.1
"""Seconds between two tellings of how far a search is."""
_OLDER = 5
"""Searches of a workflow that are looked at for the newest one that found something better."""
_BOUNDLESS = 10**8
"""Answers above which a budget does not say how far a search is."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A search that can begin, or go on where it has a record, and the folder for its candidates where one is named."""

    search: PreparedSearch
    record: OptimizationRecord | None
    out: str | None

    async def close(self) -> None:
        """End what was opened for it."""
        await self.search.close()


class Searches(Journalled[_Ready, OptimizationRecord]):
    """Searches that are ready or worked on, by their tickets."""

    what = "Search"
    cancelled = "The search was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        super().__init__(store, choosing, check)
        self._known: dict[tuple[Any, ...], Json] = {}

    async def prepare(self, order: SearchOrder) -> Json:
        """Make a search ready, to be worked on or dropped: what it may cost. Nothing is called.

        Raises `RunFailure`, with every mistake in the data and its place.
        """
        return await self._make_ready(order.ticket, self._prepared(order))

    async def _prepared(self, order: SearchOrder) -> tuple[_Ready, Json]:
        limits = Limits(**order.budget)
        record = None
        if order.resume is None:
            assert order.workflow is not None  # noqa: S101 (a new one is of a text)
            asked = Asked(**order.asked, limits=limits)
            given = dict(order.search)
            wanted = SearchAsked(
                asked,
                seed=asked.seed,
                bounds=Bounded(**given.pop("bounds", {})),
                **given,
            )
            prepared = await prepare_search(self._check(order.workflow), wanted, self._store, self._choosing)
        else:
            record = self._store.optimizations.get(order.resume)
            self._check_idle(record.id)
            prepared = await prepare_search_again(
                record,
                self._store,
                limits=limits,
                base_url=order.asked.get("base_url"),
                concurrency=order.asked.get("concurrency"),
                reuse=None,
                choosing=self._choosing,
            )
        plan = prepared.plan
        forecast = {
            **plan_object(prepared),
            "endpoint": plan.base.chosen.endpoint.origin,
            "model": plan.base.model,
            "free": plan.forecast.cost_usd.most == 0 and plan.proposing is None,
            "text": "\n".join(plan_lines(plan, str(prepared.data.file), prepared.data.part)),
        }
        return _Ready(prepared, record, order.out), forecast

    async def carry_out(self, ticket: Ticket, told: Callable[[Json], None]) -> Json:
        """Work on a search that is ready to its end, whatever that is; how it ended. ``told`` is called with how far it is, as
        `_Telling` has it. Raises `StoreFailure`, `UsageFailure` where it can't continue as it began.
        """
        async with self._taken(ticket) as ready:
            prepared, record = ready.search, ready.record
            plan = prepared.plan
            if record is None:
                record = begin(self._store, plan, prepared.data.hash, prepared.data.part, prepared.again, ready.out)
            telling = _Telling(record.id, plan.evaluations, load(self._store, record.id), told)
            working = work(self._store, record, plan, telling.take)
            await self._work(ticket, record.id, working, telling.tell)
            found = load(self._store, record.id)
            with contextlib.suppress(UsageFailure):  # What can't be written is shown from the journal.
                write_report(found)
            return self._object(found.search)

    def list(self, workflow: str | None, limit: int) -> list[Json]:
        """The newest searches, newest first, of one workflow where its name is given."""
        return [self._object(record) for record in self._store.optimizations.newest(limit, workflow)]

    def report(self, search: str) -> Json:
        """A search, with its report as a page in ``html`` and in words in ``text``."""
        from merrow_server.rendering.search_html import as_html

        found = load(self._store, search)
        return {
            **self._object(found.search),
            "html": as_html(found),
            "text": "\n".join(report_lines(found, whole=True)),
        }

    def better(self, search: str) -> Json:
        """The best workflow of a search beside the one that it began with: ``before`` and ``after`` are their texts, ``file`` is
        that of the best. Raises `UsageFailure` where none is better.
        """
        found = load(self._store, search)
        if not found.candidates or found.crown == START:
            raise UsageFailure(f"Search {found.id} has found no better workflow.")
        crown = found.candidates[found.crown]
        folder = Path(found.search.plan["folder"])
        return {
            **self._object(found.search),
            "before": found.candidates[START].text,
            "after": crown.text,
            "title": crown.title,
            "file": str(folder / (BEST if found.is_complete else crown.file)),
            "text": "\n".join(report_lines(found, whole=False)),
        }

    def delete(self, search: str) -> str:
        """Take a search out; its id. The files of its candidates stay. Raises `StoreFailure` while a process works on it."""
        identity = self._store.optimizations.id_of(search)
        delete(self._store, self._store.optimizations, identity)
        return identity

    def last(self, text: WorkflowText) -> Json | None:
        """The newest search that found a better version of a workflow as it is now, shown on held-out items; None where none
        did, and where the text does something else now.
        """
        for record in self._store.optimizations.newest(_OLDER, text.name):
            held_out = record.held_out
            if held_out is None or held_out["p"] is None or held_out["p"] >= 0.05 or held_out["difference"] <= 0:
                continue
            return None if self._changed(record, text) else self._object(record)
        return None

    def _object(self, record: OptimizationRecord) -> Json:
        """A search in a list; what has ended stays as it is, so it is read once."""
        key = record.id, record.status, record.ended
        if key not in self._known or record.status == "running":
            found = load(self._store, record.id)
            self._known[key] = {**search_object(found), **place_of(record.workflow)}
        return {**self._known[key], "here": record.id in self.running}


class _Telling:
    """Tells how far a search is, a few times a second at most: ``{search, done, total, text, crown, told}``; ``total`` is 0 where
    no number of answers bounds it.
    """

    def __init__(self, search: str, evaluations: int, found: SearchRecord, told: Callable[[Json], None]) -> None:
        self._search, self._told = search, told
        self._total = 0 if evaluations > _BOUNDLESS else evaluations
        self._done, self._candidates = found.answers, len(found.candidates)
        self._crown, self._score = found.crown, found.told
        self._reading = ""
        self._timer: asyncio.Handle | None = None

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
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self.tell)

    def tell(self) -> None:
        """Tell what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        best = "nothing scored yet"
        if self._score is not None:
            name = "the start" if self._crown == START else f"round {self._crown}"
            best = f"best so far: {name}, estimated {self._score:.3f}"
        many = counted(self._candidates, "candidate")
        self._told(
            {
                "search": self._search,
                "done": self._done,
                "total": self._total,
                "text": f"{best}; {many}{self._reading}",
                "crown": self._crown,
                "told": self._score,
            }
        )
