"""Runs in the journal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from merrow_server.cli.kinds import Json, View
from merrow_server.cli.options.running import process_options
from merrow_server.errors import InputError
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text, run_object, workflow_text
from merrow_server.times import ago, duration

if TYPE_CHECKING:
    from merrow_runtime import Run, Store
    from merrow_runtime.provenance import Reuse


def none(workflow: str | None) -> str:
    of = "" if workflow is None else f" of {workflow}"
    return f"No runs{of} yet; make one with: merrow run {workflow or 'FILE'}"


def listed(user: Store, limit: int, file: str | None) -> list[Json]:
    return [run_object(run) for run in user.runs(limit, file, complain)]


def row(entry: Json) -> tuple[str, ...]:
    return (
        entry["run"],
        entry["status"],
        ago(entry["started"]),
        "" if entry["seconds"] is None else duration(entry["seconds"]),
        counted(entry["usage"]["calls"], "call"),
        cost_text(entry["usage"]),
        visible(entry["answered_by"]),
        visible(workflow_text(entry["workflow"])),
        *((visible(entry["author"]),) if entry.get("author") else ()),
    )


def show(user: Store, identity: str | None, view: View) -> None:
    """Also one of an evaluation or a search, whose id begins with theirs; see `run_meant`."""
    from merrow_server.cli.given.run_names import run_meant
    from merrow_server.cli.texts.run_page import html_lines
    from merrow_server.cli.texts.shown_run import show_run
    from merrow_server.evaluations.journals import journal_with
    from merrow_server.rendering.html_page import write_page
    from merrow_server.reports.run_report import run_report

    if view.form not in ("text", "json", "html"):
        raise InputError(f"--format {view.form} goes with an evaluation; list them with: merrow evaluations")
    if view.form == "html" and (view.node is not None or view.revision is not None):
        raise InputError("A page shows a whole run; leave out --node and --revision.")
    if view.item is not None:
        raise InputError("--item goes with an evaluation; list them with: merrow evaluations")
    with journal_with(user, identity) as store:
        if view.form == "html":
            write_page(html_lines(run_report(store, run_meant(store, identity))), view.file)
            return
        show_run(store, run_meant(store, identity), view.node, view.revision, as_json=view.form == "json")


def resume(user: Store, identity: str, given: Json) -> int:  # noqa: ARG001 (a run opens the journal itself)
    from merrow_optimizer.revising.late import LateReviser
    from merrow_runtime import RunOptions, resume
    from merrow_server.cli.sessions.run import watch

    options = RunOptions(stream=given["verbose"] or given["as_json"], **process_options(given))

    def go_on(run: str, reuse: Reuse | None) -> Run:
        return resume(run, options=replace(options, reuse=reuse or options.reuse), reviser=LateReviser())

    return watch(
        partial(go_on, identity),
        as_json=given["as_json"],
        verbose=given["verbose"],
        fail_on_exhausted=given["fail_on_exhausted"],
        go_on=go_on,
    )
