"""Reproductions in the journal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.kinds import Json, View
from merrow_server.errors import InputError
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import plain
from merrow_server.rendering.terminal import echo, style
from merrow_server.reports.run_report import cost_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def none(workflow: str | None) -> str:  # noqa: ARG001 (all kinds have it)
    return "No reproductions yet; see what one may cost with: merrow reproduce PAPER"


def listed(user: Store, limit: int, file: str | None) -> list[Json]:
    from merrow_runtime.store.listed import readable
    from merrow_server.reproductions.table import reproduction_object

    records = user.jobs["reproduction"].newest(limit, file, complain)
    return readable(records, lambda record: reproduction_object(user, record), complain)


def row(entry: Json) -> tuple[str, ...]:
    ended = sum(row["status"] == "ended" for row in entry["rows"])
    kind = "SIMULATED" if entry["simulated"] else "LOOK" if entry["look"] else ""
    return (
        entry["reproduction"],
        entry["status"],
        ago(entry["started"]),
        f"{counted(ended, 'row')} ended",
        cost_text(entry["usage"]),
        entry["paper"],
        kind,
    )


def show(user: Store, identity: str, view: View) -> None:
    from merrow_server.cli.sessions.reproduction import report
    from merrow_server.reproductions.table import reproduction_object

    if view.item is not None or view.form not in ("text", "json", "html"):
        raise InputError(
            "A reproduction is shown as text, json or html; its rows are evaluations with ids below its own."
        )
    shown = reproduction_object(user, user.jobs["reproduction"].get(identity))
    if view.form == "text":
        echo(f"{identity}  {shown['status']}  {ago(shown['started'])}", err=True)
        if shown["error"]:
            echo(style(plain(shown["error"]), fg="red"), err=True)
    report(shown, view.form, view.file)


def resume(user: Store, identity: str, given: Json) -> int:
    """One that has ended is only shown again."""
    from merrow_server.cli.sessions.reproduction import report, watch
    from merrow_server.continuing import changed_by
    from merrow_server.reproductions.prepared import prepare_reproduction_again
    from merrow_server.reproductions.table import all_ended, reproduction_object

    form = "json" if given["as_json"] else "text"
    record = user.jobs["reproduction"].get(identity)
    if record.status == "finished":
        shown = reproduction_object(user, record)
        report(shown, form, None)
        return OK if all_ended(shown) else NOT_WELL

    async def work() -> int:
        prepared = await prepare_reproduction_again(record, user, changed_by(given))
        return await watch(user, user.jobs["reproduction"].get(identity), prepared, form, None)

    return asyncio.run(work())
