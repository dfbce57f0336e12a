"""A search watched from the command line: told what it may cost, begun, shown, stopped by Ctrl-C, and reported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from merrow_optimizer.evaluation.data.names import data_name
from merrow_optimizer.optimization.plan import SearchPlan
from merrow_optimizer.optimization.record import load
from merrow_optimizer.optimization.sessions import begin, work
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import SHOWN, OptimizationRecord
from merrow_runtime.usage import NOTHING
from merrow_runtime.workflow import Workflow
from merrow_server.cli import OK
from merrow_server.cli.minutes import minutes
from merrow_server.cli.sessions.evaluation import notice
from merrow_server.cli.sessions.watching import reporting, tell_stopped, watched
from merrow_server.cli.waiting import waiting_column
from merrow_server.optimizations.pages import write_report
from merrow_server.optimizations.prepared_search import PreparedSearch, SearchAsked, prepare_search
from merrow_server.optimizations.search_data import SCHEMA, search_object
from merrow_server.optimizations.search_words import plan_lines, report_lines
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import console, echo, emit, style
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import Pace

Event = Mapping[str, Any]


async def carry_out(user: Store, workflow: Workflow, wanted: SearchAsked, out: str | None, *, as_json: bool) -> int:
    """Begin a search, after telling what it may cost, and work on it to its end; the exit code."""
    prepared = await prepare_search(workflow, wanted, user)
    for line in plan_lines(prepared.plan, data_name(prepared.data.file), prepared.data.part):
        echo(line, err=True)
    for sentence in prepared.notes:
        notice(sentence)
    record = begin(user, prepared.plan, prepared.data.hash, prepared.data.part, prepared.again, out)
    return await watch(user, record, prepared, as_json=as_json)


async def watch(user: Store, record: OptimizationRecord, prepared: PreparedSearch, *, as_json: bool) -> int:
    """Work on a search to its end, with its progress on a terminal, or its events as JSON; then report it. The exit code."""
    if as_json:
        _emit("search_started", _object(user, record.id))
    else:
        folder = visible(workflow_text(record.plan["folder"]))
        echo(f"Search {record.id}; its candidates are files in {folder}", err=True)
    shown = _shown(prepared.plan, as_json=as_json)
    code, _ = await watched(prepared, shown, lambda told: work(user, record, prepared.plan, told))
    with reporting(code):
        search_record = load(user, record.id)
        try:
            page = write_report(search_record)
        except UsageFailure as problem:
            complain(f"{problem} Write the report elsewhere with: merrow show {record.id} --format html -o FILE")
        else:
            if not as_json:
                echo(f"Its report: {visible(workflow_text(str(page)))}", err=True)
        report(user, record.id, as_json=as_json)
    if code != OK:
        tell_stopped(record.id)
    return code


def report(user: Store, search: str, *, as_json: bool) -> None:
    """Print how a search came out."""
    if as_json:
        _emit("search_finished", _object(user, search))
        return
    for line in report_lines(load(user, search), whole=False, style=style):
        echo(line)
    echo(f"Search {search}: see all of it with: merrow show {search}", err=True)


def _object(user: Store, search: str) -> dict[str, Any]:
    return search_object(load(user, search))


def _emit(event: str, data: Event) -> None:
    emit(json.dumps({"schema": SCHEMA, "event": event, **data}))


_SHOWN = ("candidate", "draw", "crown", "note", "over", "crown_file", "held_out_started", "held_out")


@contextmanager
def _shown(plan: SearchPlan, *, as_json: bool) -> Iterator[Callable[[Event], None]]:
    """What tells of a search while it goes on: events as JSON, a line that moves on a terminal, else notes; and a line a
    minute.
    """
    standing = _SearchStanding(plan)
    if as_json:

        def told(event: Event) -> None:
            standing.add(event)
            if event["event"] in _SHOWN:
                _emit(event["event"], {name: value for name, value in event.items() if name != "event"})

        with minutes(standing.text):
            yield told
        return
    if not sys.stderr.isatty():

        def noted(event: Event) -> None:
            standing.add(event)
            _note(event)

        with minutes(standing.text):
            yield noted
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.fields[told]}"), waiting_column())
    # Lines of a report are printed as they are, whatever moves.
    bar = Progress(*columns, console=console(err=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar as progress:
        task = progress.add_task("", total=None, told=standing.text())

        def shown(event: Event) -> None:
            standing.add(event)
            _note(event)
            progress.update(task, told=standing.text())

        yield shown


class _SearchStanding:
    """How far a search is: answers, the best so far and what is spent, each of how much where that is bounded."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan, self._pace = plan, Pace()
        self._answers, self._best = 0, "nothing scored yet"
        self._spent: Mapping[str, Any] = NOTHING.to_json()

    def add(self, event: Event) -> None:
        """Something has happened."""
        kind = event["event"]
        if kind == "answer":
            self._answers += event["draw"] != SHOWN
        elif kind == "crown" or (kind == "draw" and event["draw"] == 1 and event["score"] is not None):
            score = event["told"] if kind == "crown" else event["score"]
            self._best = f"best round {event['candidate']} at {0.0 if score is None else score:.3f}"
        elif kind == "held_out_started":
            self._best = f"reading {event['items']:,} held-out items"
        self._spent = event["spent"]

    def text(self) -> str:
        """In one line."""
        limits, bound, spent = self._plan.base.limits, self._plan.bounds.evaluations, self._spent
        many = f"{self._answers:,} of {bound:,} answers" if bound is not None else counted(self._answers, "answer")
        parts = [many, self._best, cost_text(spent) + ("" if limits.usd is None else f" of ${limits.usd:g}")]
        if limits.tokens is not None:
            parts.append(f"{spent['prompt_tokens'] + spent['completion_tokens']:,} of {limits.tokens:,} tokens")
        if bound is not None:
            parts.append(self._pace.left(self._answers, bound))
        return ", ".join(filter(None, parts))


def _note(event: Event) -> None:
    if event["event"] == "note":
        notice(visible(event["text"]))
