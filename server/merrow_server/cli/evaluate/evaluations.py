"""``merrow evaluations``: the evaluations in the journal."""

from __future__ import annotations

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option


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
@click.option(
    "--workflow", metavar="FILE", shell_complete=shell_completion.files, help="Only evaluations of this workflow."
)
@click.option("--mine", is_flag=True, help="Only what you began, in a journal that others share.")
@click.option(
    "--delete",
    "deleted",
    metavar="EVAL",
    shell_complete=shell_completion.evaluations,
    multiple=True,
    help="Delete an evaluation with its scores and runs.",
)
@click.option("--prune", type=click.FloatRange(min=0), metavar="DAYS", help="Delete those older than this many days.")
@format_option()
def command(
    limit: int, workflow: str | None, mine: bool, deleted: tuple[str, ...], prune: float | None, output: str
) -> None:
    """List the evaluations in the journal, newest first: id, status, when, score, metric, cost, data, workflow."""
    from merrow_server.cli.listing import list_kind

    list_kind("evaluation", limit, workflow, deleted, prune, output, mine=mine)
