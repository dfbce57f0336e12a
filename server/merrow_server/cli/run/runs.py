"""``merrow runs``: the runs in the journal."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_runtime.program.files import whole_path
from merrow_server.cli import Command
from merrow_server.cli.given import words
from merrow_server.cli.output import complain
from merrow_server.cli.sessions.deleting import take_out
from merrow_server.cli.texts.listing import print_rows
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit
from merrow_server.reports.run_report import cost_text, run_object, workflow_text
from merrow_server.times import ago, duration

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listed import Listed


@click.command(
    "runs",
    cls=Command,
    epilog="""
    merrow runs                         the newest runs
    merrow runs --workflow flow.mmd     those of one workflow
    merrow runs --prune 30              delete those older than 30 days
    merrow runs --delete 4f2a           delete one
    merrow runs --kind optimization     searches, as merrow optimizations lists them
    merrow runs --kind extraction       extractions of operators
    """,
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to list.")
@click.option(
    "--kind",
    type=click.Choice(["run", "evaluation", "optimization", "extraction"]),
    default="run",
    show_default=True,
    help="What to list: runs, evaluations, searches or extractions.",
)
@click.option("--workflow", metavar="FILE", shell_complete=words.files, help="Only those of this workflow.")
@click.option(
    "--delete",
    "deleted",
    metavar="RUN",
    shell_complete=words.runs,
    multiple=True,
    help="Delete one from the journal.",
)
@click.option("--prune", type=click.FloatRange(min=0), metavar="DAYS", help="Delete those older than this many days.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(
    limit: int, kind: str, workflow: str | None, deleted: tuple[str, ...], prune: float | None, output: str
) -> None:
    """List the runs in the journal, newest first: id, status, when, how long, what it cost, who answered,
    workflow.
    """
    from merrow_runtime.store.database import Store

    with closing(Store.open(reading=not deleted and prune is None)) as store:
        if kind != "run":
            _others(store, kind, limit, workflow, deleted, prune, output)
            return
        for run in deleted:
            store.delete(run)
        if prune is not None:
            gone = store.prune(prune * 86_400, None)
            echo(f"{gone.runs} runs and {gone.answers} kept answers were deleted.", err=True)
        if deleted or prune is not None:
            return
        name = None if workflow is None else whole_path(workflow)
        found = [run_object(run) for run in store.runs(limit, name, complain)]
    if output == "json":
        emit(json.dumps(found, indent=2))
    elif not found:
        of = "" if workflow is None else f" of {workflow}"
        echo(f"No runs{of} yet; make one with: merrow run {workflow or 'FILE'}", err=True)
    else:
        _print(found)


def _others(
    store: Store,
    kind: str,
    limit: int,
    workflow: str | None,
    deleted: tuple[str, ...],
    prune: float | None,
    output: str,
) -> None:
    """What `merrow evaluations` and `merrow optimizations` do, and the same for extractions."""
    from merrow_server.cli.evaluate.evaluations import list_evaluations
    from merrow_server.cli.improve.optimizations import list_searches
    from merrow_server.cli.sessions.extraction import list_extractions

    if deleted or prune is not None:
        kept: dict[str, Listed[Any]] = {
            "evaluation": store.evaluations,
            "optimization": store.optimizations,
            "extraction": store.extractions,
        }
        take_out(store, kept[kind], deleted, prune)
    elif kind == "evaluation":
        list_evaluations(store, limit, workflow, output)
    elif kind == "optimization":
        list_searches(store, limit, workflow, output)
    else:
        list_extractions(store, limit, None if workflow is None else whole_path(workflow), output)


def _print(found: list[dict[str, Any]]) -> None:
    rows = [
        (
            run["run"],
            run["status"],
            ago(run["started"]),
            "" if run["seconds"] is None else duration(run["seconds"]),
            counted(run["usage"]["calls"], "call"),
            cost_text(run["usage"]),
            visible(run["answered_by"]),
            visible(workflow_text(run["workflow"])),
        )
        for run in found
    ]
    print_rows(rows, otherwise=None)
