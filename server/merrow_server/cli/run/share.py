"""``merrow share``: a run, an evaluation, a search, ... as one page to pass on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion


@click.command(
    "share",
    cls=Command,
    epilog="""
    merrow share 4f2a -o page.html           a run: its picture, and each step with what it was asked and gave
    merrow share flow.mmd -o page.html       the latest run of a workflow
    merrow share 9c1d -o evaluation.html     an evaluation with its charts and all its items
    """,
)
@click.argument("job", shell_complete=shell_completion.anything)
@click.option("-o", "--output", "file", metavar="FILE", required=True, help="The file to write.")
def command(job: str, file: str) -> None:
    """Write JOB as one page that needs no network and no script: a run (an id, the beginning of one, or a workflow file for its
    latest run), an evaluation, a search, an extraction or a reproduction. It contains prompts and answers; look at it before
    you pass it on. It is the page of `merrow show --format html`.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.run_names import job_meant
    from merrow_server.cli.kinds import View, door
    from merrow_server.rendering.snippet import visible
    from merrow_server.rendering.terminal import echo

    with closing(Store.open(reading=True)) as user:
        entry = job_meant(user, job)
        view = View("html", file)
        if entry is None:
            door("run").show(user, job, view)
        else:
            door(entry.kind).show(user, entry.id, view)
    echo(f"{visible(str(Path(file)))} is written.", err=True)
