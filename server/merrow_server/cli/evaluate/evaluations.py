"""``merrow evaluations``: the evaluations in the journal."""

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
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


@click.command(
    "evaluations",
    cls=Command,
    epilog="""
    merrow evaluations                         the newest evaluations
    merrow evaluations --workflow flow.mmd     those of one workflow
    merrow evaluations --prune 30              delete those older than 30 days, with their runs
    merrow evaluations --delete 9c1d           delete one
    """,
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to list.")
@click.option("--workflow", metavar="FILE", shell_complete=words.files, help="Only evaluations of this workflow.")
@click.option(
    "--delete",
    "deleted",
    metavar="EVAL",
    shell_complete=words.evaluations,
    multiple=True,
    help="Delete an evaluation with its scores and runs.",
)
@click.option("--prune", type=click.FloatRange(min=0), metavar="DAYS", help="Delete those older than this many days.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(limit: int, workflow: str | None, deleted: tuple[str, ...], prune: float | None, output: str) -> None:
    """List the evaluations in the journal, newest first: id, status, when, score, metric, cost, data, workflow."""
    from merrow_runtime.store.database import Store

    with closing(Store.open(reading=not deleted and prune is None)) as user:
        if deleted or prune is not None:
            take_out(user, user.evaluations, deleted, prune)
            return
        list_evaluations(user, limit, workflow, output)


def list_evaluations(user: Store, limit: int, workflow: str | None, output: str) -> None:
    """Print the newest evaluations, of one workflow file where given."""
    from merrow_server.evaluations.report import evaluation_object

    name = None if workflow is None else whole_path(workflow)
    found = [
        evaluation_object(user, record, user.evaluations.scores(record.id))
        for record in user.evaluations.newest(limit, name, complain)
    ]
    if output == "json":
        emit(json.dumps(found, indent=2))
    elif not found:
        echo("No evaluations yet; make one with: merrow evaluate FILE --dataset F", err=True)
    else:
        _print(found)


def _print(found: list[dict[str, Any]]) -> None:
    from merrow_server.evaluations.report import score_text

    rows = [
        (
            one["evaluation"],
            one["status"],
            ago(one["started"]),
            score_text(one),
            one["metric"],
            cost_text(one["usage"]),
            visible(workflow_text(one["dataset"])) + f" ({one['part']})",
            visible(workflow_text(one["workflow"])),
        )
        for one in found
    ]
    print_rows(rows)
