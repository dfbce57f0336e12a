"""Extractions in the journal."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from merrow_server.cli.kinds import Json, View
from merrow_server.errors import InputError
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def none(workflow: str | None) -> str:  # noqa: ARG001 (all kinds have it)
    return "No extractions yet; make one with: merrow extract CASES"


def listed(user: Store, limit: int, file: str | None) -> list[Json]:
    """Of one file of solved cases where given."""
    from merrow_runtime.store.listed import readable
    from merrow_server.extractions.extraction_data import extraction_object

    records = user.extractions.newest(limit, file, complain)
    return readable(records, lambda record: extraction_object(user, record), complain)


def row(entry: Json) -> tuple[str, ...]:
    return (
        entry["extraction"],
        entry["status"],
        ago(entry["started"]),
        _operators(entry["report"]),
        cost_text(entry["usage"]),
        visible(workflow_text(entry["cases"])) + f" ({entry['part']})",
    )


def show(user: Store, identity: str, view: View) -> None:
    from merrow_server.extractions.extraction_data import extraction_object
    from merrow_server.extractions.extraction_html import as_html
    from merrow_server.extractions.extraction_words import report_lines
    from merrow_server.rendering.html_page import write_page

    if view.item is not None or view.form not in ("text", "json", "html"):
        raise InputError("An extraction is shown as a whole, as text, json or html.")
    shown = extraction_object(user, user.extractions.get(identity))
    if view.form == "html":
        report = shown["report"]
        if report is None or report["why_nothing"] is not None:
            raise InputError(f"Extraction {identity} has no operators yet, so there is no page of it.")
        write_page([as_html(report)], view.file)
        return
    if view.form == "json":
        emit(json.dumps(shown, indent=2))
        return
    echo(
        f"{shown['extraction']}  {shown['status']}  {ago(shown['started'])}  {visible(workflow_text(shown['cases']))}"
        f" (part {visible(shown['part'])}, {visible(shown['metric'])})"
    )
    if shown["error"]:
        echo(style(plain(shown["error"]), fg="red"))
    if shown["report"] is None:
        echo(f"It has not ended; {cost_text(shown['usage'])} so far. Continue it with: merrow resume {identity}")
        return
    for line in report_lines(shown["report"], style):
        echo(line)


def resume(user: Store, identity: str, given: Json) -> int:
    """One that has ended writes its files again."""
    from merrow_server.cli.sessions.extraction import watch
    from merrow_server.continuing import changed_by
    from merrow_server.extractions.prepared_extraction import prepare_extraction_again

    record = user.extractions.get(identity)

    async def work() -> int:
        prepared = await prepare_extraction_again(record, user, changed_by(given))
        return await watch(user, user.extractions.get(identity), prepared, as_json=given["as_json"])

    return asyncio.run(work())


def _operators(report: dict[str, object] | None) -> str:
    operators = None if report is None else report.get("operators")
    if not isinstance(operators, list):
        return "no operators"
    return counted(len(operators), "operator")
