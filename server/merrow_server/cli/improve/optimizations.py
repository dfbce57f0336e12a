"""``merrow optimizations``: the searches in the journal."""

from __future__ import annotations

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option


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
    "--workflow",
    metavar="FILE",
    shell_complete=shell_completion.files,
    help="Only searches that began with this workflow.",
)
@click.option("--mine", is_flag=True, help="Only what you began, in a journal that others share.")
@click.option(
    "--delete",
    "deleted",
    metavar="OPT",
    shell_complete=shell_completion.searches,
    multiple=True,
    help="Delete a search with its candidates, scores and runs.",
)
@click.option("--prune", type=click.FloatRange(min=0), metavar="DAYS", help="Delete those older than this many days.")
@format_option()
def command(
    limit: int, workflow: str | None, mine: bool, deleted: tuple[str, ...], prune: float | None, output: str
) -> None:
    """List the searches in the journal, newest first: id, status, when, candidates, best and start, cost, data, workflow."""
    from merrow_server.cli.listing import list_kind

    list_kind("search", limit, workflow, deleted, prune, output, mine=mine)
