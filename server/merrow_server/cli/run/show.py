"""``merrow show``: a run of the journal, or a job of another kind."""

from __future__ import annotations

from contextlib import closing

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.errors import InputError


@click.command(
    "show",
    cls=Command,
    epilog="""
    merrow show                       how the latest run went, node by node
    merrow show flow.mmd              the latest run of a workflow
    merrow show 4f2a                  a run by the beginning of its id
    merrow show 4f2a --node SOLVE     its inputs, memory, every prompt and answer
    merrow show 4f2a --format json
    merrow show 4f2a --format html -o run.html
    merrow show 4f2a --revision 2     its workflow as revision 2 had it
    merrow show 9c1d                  an evaluation: all its items, failures first
    merrow show 9c1d --format html >report.html
    merrow show 9c1d --item 17        an item of it: what was read, gold, reason, the answer and its run
    merrow show 7e0b                  a search: its candidates, the best one, what held-out items say
    merrow show 7e0b --format json    all of it as JSON Lines
    merrow show 7e0b --format html -o report.html
    merrow show 3d5c                  a plan: all of them, and the text of the best one
    """,
)
@click.argument("run", required=False, shell_complete=shell_completion.anything)
@click.option(
    "--node",
    metavar="NODE",
    shell_complete=shell_completion.nodes_of_run,
    help="Everything about one node: prompts, memory, answers, attempts.",
)
@click.option(
    "--revision",
    type=click.IntRange(min=0),
    metavar="N",
    help="The workflow of the run at revision N; 0 is the one that it began with.",
)
@click.option("--item", metavar="ID", help="Everything about one item of an evaluation.")
@format_option(
    "How to print; a run, search, extraction or reproduction as text, json or html, an evaluation as any.",
    ("text", "json", "csv", "junit", "github", "html", "inspect"),
)
@click.option("-o", "--output", "file", metavar="FILE", help="Write the html to this file.")
def command(
    run: str | None, node: str | None, revision: int | None, item: str | None, output: str, file: str | None
) -> None:
    """Show the run RUN of the journal: an id, the beginning of one, or a workflow file for its latest run.
    Without RUN, the latest of all runs. RUN may also be an evaluation, a search, an extraction, a plan, a suggestion or a
    reproduction, or a run of one.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.run_names import job_meant
    from merrow_server.cli.kinds import View, door, refuse

    if file is not None and output != "html":
        raise InputError("-o writes a page; add --format html.")
    with closing(Store.open(reading=True)) as user:
        view, entry = View(output, file, node, revision, item), job_meant(user, run)
        if entry is None:
            door("run").show(user, run, view)
        else:
            refuse({"node": node, "revision": revision}, entry.kind, entry.id)
            door(entry.kind).show(user, entry.id, view)
