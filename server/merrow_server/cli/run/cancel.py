"""``merrow cancel``: end a job that another process works on."""

from __future__ import annotations

from contextlib import closing

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import echo


@click.command(
    "cancel",
    cls=Command,
    epilog="""
    merrow cancel 4f2a
    merrow cancel 9c1d     an evaluation, a search, a plan, ...: it ends within a second
    """,
)
@click.argument("run", shell_complete=shell_completion.running)
@click.pass_context
def command(ctx: click.Context, run: str) -> None:
    """Stop the run RUN in whichever process it runs; it may also be an evaluation, a search, an extraction, a plan, a
    suggestion or a reproduction. Finished work is kept: `merrow resume` continues it.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.kept_work import request_cancel

    with closing(Store.open()) as store:
        asked = request_cancel(store, run)
    if not asked.is_heard:
        complain(f"No process works on {asked.word} {asked.id}: it is {asked.was}.")
        ctx.exit(NOT_WELL)
    if asked.was == "waiting":
        echo(f"Run {asked.id} waited for an answer; it is cancelled, and nobody is asked any more.")
        return
    kept = "its calls in flight are stopped" if asked.word == "run" else "what is finished is kept"
    echo(f"{asked.word.capitalize()} {asked.id} was asked to end; {kept}.")
