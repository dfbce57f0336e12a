"""``merrow optimizations``: the searches in the journal."""

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
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


@click.command(
    "optimizations",
    cls=Command,
    epilog="""
    merrow optimizations                         the newest searches
    merrow optimizations --workflow flow.mmd     those that began with one workflow
    merrow optimizations --prune 30              delete those older than 30 days, with their runs
    merrow optimizations --delete 9c1d           delete one; the files of its candidates stay
    """,
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to list.")
@click.option(
    "--workflow", metavar="FILE", shell_complete=words.files, help="Only searches that began with this workflow."
)
@click.option(
    "--delete",
    "deleted",
    metavar="OPT",
    shell_complete=words.searches,
    multiple=True,
    help="Delete a search with its candidates, scores and runs.",
)
@click.option("--prune", type=click.FloatRange(min=0), metavar="DAYS", help="Delete those older than this many days.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(limit: int, workflow: str | None, deleted: tuple[str, ...], prune: float | None, output: str) -> None:
    """List the searches in the journal, newest first: id, status, when, candidates, best and start, cost, data, workflow."""
    from merrow_runtime.store.database import Store

    with closing(Store.open(reading=not deleted and prune is None)) as user:
        if deleted or prune is not None:
            take_out(user, user.optimizations, deleted, prune)
            return
        list_searches(user, limit, workflow, output)


def list_searches(user: Store, limit: int, workflow: str | None, output: str) -> None:
    """Print the newest searches, of one workflow file where given."""
    from merrow_optimizer.optimization.record import load
    from merrow_runtime.store.listed import readable
    from merrow_server.optimizations.report import search_object

    name = None if workflow is None else whole_path(workflow)
    records = user.optimizations.newest(limit, name, complain)
    found = readable(records, lambda record: search_object(load(user, record.id)), complain)
    if output == "json":
        emit(json.dumps(found, indent=2))
    elif not found:
        echo("No searches yet; make one with: merrow optimize FILE --dataset F", err=True)
    else:
        _print(found)


def _print(found: list[dict[str, Any]]) -> None:
    rows = [
        (
            one["search"],
            one["status"],
            ago(one["started"]),
            counted(one["candidates"], "candidate"),
            _best(one),
            cost_text(one["usage"]),
            visible(workflow_text(one["dataset"])) + f" ({one['part']})",
            visible(workflow_text(one["workflow"])),
        )
        for one in found
    ]
    print_rows(rows)


def _best(one: dict[str, Any]) -> str:
    """The held-out difference where there is one, else what the search estimates."""
    if one["held_out"] is not None:
        return f"{one['held_out']['difference']:+.3f} held out"
    if one["told"] is None:
        return "no score"
    if one["crown"] == 0:
        return f"start {one['told']:.3f}"
    return f"about {one['told']:.3f}, start {one['start_told']:.3f}"
