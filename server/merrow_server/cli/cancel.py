"""``merrow cancel``: end a run that another process works on."""

from __future__ import annotations

from contextlib import closing

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import words
from merrow_server.cli.output import complain
from merrow_server.rendering.terminal import echo


@click.command(
    "cancel",
    cls=Command,
    epilog="""
    merrow cancel 4f2a
    """,
)
@click.argument("run", shell_complete=words.running_runs)
@click.pass_context
def command(ctx: click.Context, run: str) -> None:
    """End the run RUN, whichever process works on it. What it finished is kept: merrow resume continues it."""
    from merrow_runtime.store.database import Store

    with closing(Store.open()) as store:
        identity = store.run(run).id
        if store.request_cancel(identity):
            echo(f"Run {identity} was asked to end; its calls in flight are stopped.")
            return
        complain(f"No process works on run {identity}: it is {store.run(identity).status}.")
        ctx.exit(NOT_WELL)
