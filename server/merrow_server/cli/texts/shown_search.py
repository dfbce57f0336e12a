"""``merrow show OPT``: a search with all its candidates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_optimizer.optimization.record import load
from merrow_server.errors import InputError
from merrow_server.optimizations.pages import write_report
from merrow_server.optimizations.search_data import record_lines
from merrow_server.optimizations.search_words import report_lines
from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store

FORMATS = ("text", "json", "html")


def show_search(user: Store, search: str, output: str, file: str | None) -> None:
    """Print a search as text, as JSON Lines or as a page, this to a ``file`` where it is named. Raises `InputError`."""
    if output not in FORMATS:
        raise InputError(f"A search is shown as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not as {output}.")
    search_record = load(user, search)
    if output == "html":
        if file is not None:
            write_report(search_record, Path(file))
            return
        from merrow_server.optimizations.search_html import as_html

        emit(as_html(search_record))
        return
    if output == "json":
        for event in record_lines(search_record):
            emit(json.dumps(event))
        return
    record = search_record.search
    echo(
        f"{record.id}  {search_record.state}  {ago(record.started)}  {record.strategy}  {visible(workflow_text(record.workflow))}"
        f" on {visible(workflow_text(record.plan['asked']['dataset']))} (part {visible(record.part)}, {visible(record.metric)})"
    )
    if record.error:
        echo(style(plain(record.error), fg="red"))
    for line in report_lines(search_record, whole=True, style=style):
        echo(line)
