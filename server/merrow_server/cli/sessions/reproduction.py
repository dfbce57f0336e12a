"""A reproduction watched from the command line: told what it may cost, begun, shown, stopped by Ctrl-C, and its table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord
from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.minutes import step_minutes
from merrow_server.cli.sessions.evaluation import notice
from merrow_server.cli.sessions.watching import tell_stopped, watched
from merrow_server.cli.status_line import status_line
from merrow_server.evaluations.prepared_evaluation import OFFLINE
from merrow_server.files import write_bytes
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reproductions.carrying import Told, work
from merrow_server.reproductions.page import as_html
from merrow_server.reproductions.prepared import KIND, PreparedReproduction, plan_object, prepare
from merrow_server.reproductions.request import ReproductionRequest
from merrow_server.reproductions.table import all_ended, reproduction_object
from merrow_server.reproductions.words import plan_lines, report_lines


async def carry_out(user: Store, request: ReproductionRequest, form: str, file: str | None, *, agreed: bool) -> int:
    """Show what it may cost; where that is ``agreed`` to, begin it and work on it to its end. The exit code."""
    prepared = await prepare(request, user)
    plan = plan_object(prepared)
    if not agreed and form == "json":
        emit(json.dumps(plan, indent=2, ensure_ascii=False))
        return OK
    for line in plan_lines(plan, style):
        echo(line, err=agreed)
    if not agreed:
        if prepared.in_order:
            echo("No call was made. Run it with --yes, or with a budget: --budget-usd USD.")
        return OK
    prepared.check_runs()
    for sentence in _notices(prepared):
        notice(visible(sentence))
    return await watch(user, prepared.begin(), prepared, form, file)


def _notices(prepared: PreparedReproduction) -> Iterator[str]:
    """What there is to know before the first call."""
    if prepared.request.simulate:
        yield OFFLINE
        return
    yield from prepared.chosen.notices


async def watch(user: Store, record: JobRecord, prepared: PreparedReproduction, form: str, file: str | None) -> int:
    """Work on one to its end, with its progress shown; then print its table. The exit code."""
    echo(f"Reproduction {record.id}; its files are in {visible(prepared.request.out or record.id)}", err=True)
    code, _ = await watched(prepared, _progress(), lambda told: work(user, record, prepared, told))
    shown = reproduction_object(user, user.jobs[KIND].get(record.id))
    report(shown, form, file)
    if code != OK:
        tell_stopped(record.id)
        return code
    echo(f"Reproduction {record.id}: see it again with: merrow show {record.id}", err=True)
    return OK if all_ended(shown) else NOT_WELL


def report(shown: Mapping[str, Any], form: str, file: str | None) -> None:
    """Print a table in this form, or write its page to a file. Raises `InputError`."""
    if form == "html":
        page = as_html(shown)
        if file is not None:
            write_bytes(Path(file), page.encode())
        else:
            emit(page)
        return
    if form == "json":
        emit(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for line in report_lines(shown, style):
        echo(line)


@contextmanager
def _progress() -> Iterator[Told]:
    """The row that is worked on, in a line on a terminal, else one a minute."""
    if not sys.stderr.isatty():
        with step_minutes() as tell:
            yield tell
        return
    with status_line() as say:
        yield lambda what, done, most: say(f"{what} ({min(done + 1, most)} of {most} rows)")
