"""``merrow resume``: a run that ended early goes on."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import words
from merrow_server.cli.given.run_names import run_meant
from merrow_server.cli.options import with_options
from merrow_server.cli.run_options import RUN_OPTIONS, process_options
from merrow_server.rendering.terminal import echo

if TYPE_CHECKING:
    from merrow_runtime import Run
    from merrow_runtime.provenance import Reuse


@click.command(
    "resume",
    cls=Command,
    epilog="""
    merrow resume                             the latest run
    merrow resume flow.mmd                    the latest run of a workflow
    merrow resume 4f2a                        a run by the beginning of its id
    merrow resume 4f2a --budget-usd 0.50      with more money, where it had run out
    """,
)
@click.argument("run", required=False, shell_complete=words.unfinished_runs)
@click.option("--verbose", is_flag=True, help="Show answers while they come into being.")
@with_options(RUN_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, run: str | None, **given: Any) -> None:
    """Continue the run RUN where it ended: an id, its beginning, or a workflow file for its latest run. Without RUN it is the
    latest of all.

    It runs what the journal has (text, prompts, settings, inputs), whatever the files say now. No call that finished is
    made again, and what was spent counts. A run that finished is only shown again.
    """
    from merrow_runtime import RunOptions, Store, resume
    from merrow_server.cli.run_session import watch

    options = RunOptions(stream=given["verbose"] or given["as_json"], **process_options(given))

    with closing(Store.open()) as store:
        identity = run_meant(store, run)
    if identity != run and not given["as_json"]:
        echo(f"Run {identity}:", err=True)

    def begin(reuse: Reuse | None) -> Run:
        return resume(identity, options=replace(options, reuse=reuse or options.reuse))

    ctx.exit(watch(begin, as_json=given["as_json"], verbose=given["verbose"]))
