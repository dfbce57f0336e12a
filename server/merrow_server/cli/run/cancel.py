"""``merrow cancel``: end a run that another process works on."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, OK, Command
from merrow_server.cli.given import words
from merrow_server.cli.output import complain
from merrow_server.rendering.terminal import echo

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listed import Listed


@click.command(
    "cancel",
    cls=Command,
    epilog="""
    merrow cancel 4f2a
    merrow cancel 9c1d     an evaluation, a search or an extraction: it ends within a second
    """,
)
@click.argument("run", shell_complete=words.running)
@click.pass_context
def command(ctx: click.Context, run: str) -> None:
    """Stop the run, evaluation, search or extraction RUN in whichever process it runs. Finished work is kept:
    `merrow resume` continues it.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.run_names import evaluation_meant, extraction_meant, search_meant

    with closing(Store.open()) as store:
        for kept, identity in (
            (store.evaluations, evaluation_meant(store, run)),
            (store.optimizations, search_meant(store, run)),
            (store.extractions, extraction_meant(store, run)),
        ):
            if identity is not None:
                ctx.exit(_cancel(store, kept, identity))
        identity = store.run(run).id
        if store.request_cancel(identity):
            echo(f"Run {identity} was asked to end; its calls in flight are stopped.")
            return
        complain(f"No process works on run {identity}: it is {store.run(identity).status}.")
        ctx.exit(NOT_WELL)


def _cancel(store: Store, kept: Listed[Any], identity: str) -> int:
    """Ask the process that works on an evaluation or a search to end it; the exit code."""
    from merrow_optimizer.evaluation.sessions import request_cancel, state_of

    if request_cancel(store, kept, identity):
        echo(f"{kept.word.capitalize()} {identity} was asked to end; what is finished is kept.")
        return OK
    complain(f"No process works on {kept.word} {identity}: it is {state_of(store, kept.get(identity))}.")
    return NOT_WELL
