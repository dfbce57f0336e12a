"""``merrow runs``: what is in the journal."""

from __future__ import annotations

from typing import Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.kinds import KINDS
from merrow_server.cli.options.common import format_option
from merrow_server.errors import InputError


class _KindChoice(click.Choice):  # type: ignore[type-arg] # it has a type argument only since Click 8.2
    """The kinds; a search may be called by the command that begins one, too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert("search" if value == "optimization" else value, param, ctx)


@click.command(
    "runs",
    cls=Command,
    epilog="""
    merrow runs                         the newest runs
    merrow runs --workflow flow.mmd     those of one workflow
    merrow runs --prune 30              delete those older than 30 days
    merrow runs --delete 4f2a           delete one
    merrow runs --waiting               those that wait for a person's answer, with their questions
    merrow runs --kind search           searches, as merrow optimizations lists them
    merrow runs --kind batch            batches: a run for each row of a data set
    merrow runs --kind extraction       extractions of operators
    merrow runs --kind plan             plans; suggestions are of the kind suggestion
    merrow runs --kind all              everything, whatever its kind
    """,
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to list.")
@click.option(
    "--kind",
    type=_KindChoice([*KINDS, "all"]),
    default="run",
    show_default=True,
    help="What to list.",
)
@click.option("--workflow", metavar="FILE", shell_complete=shell_completion.files, help="Only those of this workflow.")
@click.option("--waiting", is_flag=True, help="Only runs that wait for a person's answer, with their questions.")
@click.option("--mine", is_flag=True, help="Only what you began, in a journal that others share.")
@click.option(
    "--delete",
    "deleted",
    metavar="RUN",
    shell_complete=shell_completion.runs,
    multiple=True,
    help="Delete one from the journal.",
)
@click.option("--prune", type=click.FloatRange(min=0), metavar="DAYS", help="Delete those older than this many days.")
@format_option()
def command(
    limit: int,
    kind: str,
    workflow: str | None,
    waiting: bool,
    mine: bool,
    deleted: tuple[str, ...],
    prune: float | None,
    output: str,
) -> None:
    """List the runs in the journal, newest first: id, status, when, how long, what it cost, who answered,
    workflow.
    """
    from merrow_server.cli.listing import list_kind, list_waiting

    if waiting:
        if kind != "run" or deleted or prune is not None:
            raise InputError("--waiting lists runs; it does not go with --kind, --delete or --prune.")
        list_waiting(limit, workflow, output, mine=mine)
        return

    list_kind(kind, limit, workflow, deleted, prune, output, mine=mine)
