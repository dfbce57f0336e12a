"""An extraction watched from the command line: told what it may cost, begun, shown, stopped by Ctrl-C, written and reported."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from merrow_optimizer.evaluation.data.names import data_name
from merrow_optimizer.extraction.extraction_report import files, library
from merrow_optimizer.extraction.extractor import Told
from merrow_optimizer.extraction.sessions import begin, work
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.minutes import step_minutes
from merrow_server.cli.sessions.evaluation import notice
from merrow_server.cli.sessions.watching import tell_stopped, watched
from merrow_server.cli.waiting import waiting_column
from merrow_server.errors import InputError
from merrow_server.extractions.extraction_data import extraction_object
from merrow_server.extractions.extraction_words import plan_lines, report_lines
from merrow_server.extractions.files import check_place, write_files
from merrow_server.extractions.prepared_extraction import ExtractionAsked, PreparedExtraction, prepare_extraction
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import console, echo, emit, style
from merrow_server.reports.run_report import cost_text


async def carry_out(user: Store, wanted: ExtractionAsked, *, as_json: bool) -> int:
    """Begin an extraction, after telling what it may cost, and work on it to its end; the exit code."""
    prepared = await prepare_extraction(wanted, user)
    for line in plan_lines(prepared.plan, data_name(prepared.data.file), prepared.data.part):
        echo(line, err=True)
    for sentence in prepared.notes:
        notice(visible(sentence))
    data = prepared.data
    record = begin(user, prepared.plan, str(data.file), data.hash, data.part, prepared.again)
    return await watch(user, record, prepared, as_json=as_json)


async def watch(user: Store, record: ExtractionRecord, prepared: PreparedExtraction, *, as_json: bool) -> int:
    """Work on an extraction to its end, with its progress on a terminal; then write its files and report it. The exit code."""
    check_place(prepared.out)
    code, extractor = await watched(prepared, _progress(), lambda told: work(user, record, prepared.plan, told))
    if code != OK or extractor is None:
        tell_stopped(record.id)
        if as_json:
            emit(json.dumps(extraction_object(user, user.extractions.get(record.id)), indent=2))
        return code
    shown = extraction_object(user, user.extractions.get(record.id))
    report = shown["report"]
    if report["why_nothing"] is None:
        try:
            write_files(prepared.out, library(extractor), files(extractor), report)
        except UsageFailure as problem:
            again = f"What was found is kept: make room for the files, then write them with: merrow resume {record.id}"
            raise InputError(f"{problem} {again}") from None
    if as_json:
        emit(json.dumps(shown, indent=2))
    else:
        for line in report_lines(report, style) if report["why_nothing"] is None else ():
            echo(line)
        usage = shown["usage"]
        if record.plan["replay"] is None:
            echo(f"Paid by this extraction: {usage['calls']:,} calls, {cost_text(usage)}.", err=True)
        else:
            echo(
                f"The recording gave all {usage['calls']:,} answers: no call was made, and nothing was paid.", err=True
            )
    if report["why_nothing"] is not None:
        complain(report["why_nothing"])
        return NOT_WELL
    echo(f"{visible(str(prepared.out))} is written, with its report, cases/ and start/ beside it.", err=True)
    echo(f"Extraction {record.id}: see it again with: merrow show {record.id}", err=True)
    if not report["is_enough"]:
        share = report["coverage"]["extraction"]["share"]
        wanted = report["settings"]["coverage"]
        complain(
            f"The set covers {0.0 if share is None else share:.3f} of the cases, less than the {wanted:g} that was asked for;"
            " it is the set with the best coverage."
        )
        return NOT_WELL
    return OK


@contextmanager
def _progress() -> Iterator[Told]:
    """A line that moves on a terminal, else one a minute."""
    if not sys.stderr.isatty():
        with step_minutes() as tell:
            yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), waiting_column())
    bar = Progress(*columns, console=console(err=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        task = bar.add_task("", total=None)

        def told(what: str, done: int, of: int) -> None:
            bar.update(task, description=what, completed=done, total=of)

        yield told
