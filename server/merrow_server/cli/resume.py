"""``merrow resume``: a run that ended early goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import words
from merrow_server.cli.options import with_options
from merrow_server.cli.run_options import RUN_OPTIONS, process_options

if TYPE_CHECKING:
    from merrow_runtime import Run
    from merrow_runtime.provenance import Reuse


@click.command(
    "resume",
    cls=Command,
    epilog="""
    merrow resume 4f2a
    merrow resume 4f2a --budget-usd 0.50      with more money, where it had run out
    """,
)
@click.argument("run", shell_complete=words.unfinished_runs)
@click.option("--verbose", is_flag=True, help="Show answers while they come into being.")
@with_options(RUN_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, run: str, **given: Any) -> None:
    """Go on with the run RUN where it ended; the beginning of its id is enough.

    It runs what the journal has (text, prompts, settings, inputs), whatever the files say now. No call that finished is
    made again, and what was spent counts. A run that finished is only shown again.
    """
    from merrow_runtime import RunOptions, resume
    from merrow_server.cli.run_session import watch

    options = RunOptions(stream=given["verbose"] or given["as_json"], **process_options(given))

    def begin(reuse: Reuse | None) -> Run:
        return resume(run, options=replace(options, reuse=reuse or options.reuse))

    ctx.exit(watch(begin, as_json=given["as_json"], verbose=given["verbose"]))
