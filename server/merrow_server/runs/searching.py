"""The searches of one server, in the thread of its runs: made ready, worked on, cancelled, listed, reported."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.keys import semantic_hash
from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.optimization.plan import Bounded
from merrow_optimizer.optimization.record import SearchRecord, load
from merrow_optimizer.optimization.rounds import CROWN
from merrow_optimizer.optimization.sessions import begin, work
from merrow_optimizer.search.candidates import START
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import SHOWN, OptimizationRecord
from merrow_runtime.workflow import Workflow, restore
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
from merrow_server.runs.journal import place_of
from merrow_server.runs.orders import SearchOrder, WorkflowText

Json = dict[str, Any]
Check = Callable[[WorkflowText], Workflow]
_PAUSE = 0.1
"""Seconds between two tellings of how far a search is."""
_OLDER = 5
"""Searches of a workflow that are looked at for the newest one that found something better."""
_BOUNDLESS = 10**8
"""Answers above which a budget does not say how far a search is."""


class Searches:
    """Searches that are ready or worked on, by their tickets. All of it belongs to the thread of the runs."""

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        self._store = store
        self._choosing = choosing
        self._check = check
        self._ready: dict[int, tuple[PreparedSearch, OptimizationRecord | None, str | None]] = {}
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._open: set[int] = set()
        self._cancelled: set[int] = set()
        self._known: dict[tuple[Any, ...], Json] = {}
        self._semantics: dict[str, str] = {}
        self.running: set[str] = set()
        """The ids of those that are worked on here."""

    async def prepare(self, order: SearchOrder) -> Json:
        """Make a search ready, to be worked on or dropped: what it may cost. Nothing is called. Raises `RunFailure`."""
        self._open.add(order.ticket)
        try:
            return await self._prepare(order)
        except BaseException:
            self._forget(order.ticket)
            raise

    async def _prepare(self, order: SearchOrder) -> Json:
        limits = Limits(*(order.budget.get(name) for name in ("usd", "tokens", "seconds")))
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
            if record.id in self.running:
                raise UsageFailure(f"Search {record.id} is going on here already.")
            prepared = await prepare_search_again(
                record,
                self._store,
                limits=limits,
                base_url=order.asked.get("base_url"),
                concurrency=order.asked.get("concurrency"),
                reuse=None,
                choosing=self._choosing,
            )
        self._ready[order.ticket] = prepared, record, order.out
        plan = prepared.plan
        return {
            **plan_object(prepared),
            "endpoint": plan.base.chosen.endpoint.origin,
            "model": plan.base.model,
            "free": plan.forecast.cost_usd.most == 0 and plan.proposing is None,
            "text": "\n".join(plan_lines(plan, str(prepared.data.file), prepared.data.part)),
        }

    async def drop(self, ticket: int) -> None:
        """Nobody wants it."""
        self._forget(ticket)
        found = self._ready.pop(ticket, None)
        if found is not None:
            await found[0].close()

    async def carry_out(self, ticket: int, told: Callable[[Json], None]) -> Json:
        """Work on a search that is ready to its end, whatever that is; how it ended. ``told`` is called with how far it is, as
        `_Telling` has it. Raises `StoreFailure`, `UsageFailure` where it can't go on as it began.
        """
        prepared, record, out = self._ready.pop(ticket)
        try:
            if ticket in self._cancelled:
                raise UsageFailure("The search was cancelled before it began.")
            plan = prepared.plan
            if record is None:
                record = begin(self._store, plan, prepared.data.hash, prepared.data.part, prepared.again, out)
            telling = _Telling(record.id, plan.evaluations, load(self._store, record.id), told)
            telling.tell()
            self._tasks[ticket] = task = asyncio.create_task(work(self._store, record, plan, telling.take))
            self.running.add(record.id)
            try:
                await asyncio.wait([task])
            finally:
                self.running.discard(record.id)
                del self._tasks[ticket]
            telling.tell()
            if not task.cancelled():
                task.result()
            found = load(self._store, record.id)
            with contextlib.suppress(UsageFailure):  # What can't be written is shown from the journal.
                write_report(found)
            return self._object(found.search)
        finally:
            self._forget(ticket)
            await prepared.close()

    def cancel(self, ticket: int) -> bool:
        """Cancel the search with this number, begun or not, and keep what is finished; whether there is one."""
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
            "file": str(folder / (CROWN if found.is_complete else crown.file)),
            "text": "\n".join(report_lines(found, whole=False)),
        }

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

    def _changed(self, record: OptimizationRecord, text: WorkflowText) -> bool:
        """Whether a text does something else than the start of a search; one with errors does."""
        options = RunOptions(model=record.plan["asked"]["model"], seed=record.seed)
        try:
            if record.id not in self._semantics:
                self._semantics[record.id] = _semantic(restore(record.plan["snapshot"]), options)
            return _semantic(self._check(text), options) != self._semantics[record.id]
        except RunFailure:
            return True

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
        many = "1 candidate" if self._candidates == 1 else f"{self._candidates:,} candidates"
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


def _semantic(workflow: Workflow, options: RunOptions) -> str:
    return semantic_hash(workflow, make_steps(workflow, options))
