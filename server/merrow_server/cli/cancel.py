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
    merrow cancel 9c1d     an evaluation: it ends within a second
    """,
)
@click.argument("run", shell_complete=words.running)
@click.pass_context
def command(ctx: click.Context, run: str) -> None:
    """End the run or the evaluation RUN, whichever process works on it. What it finished is kept: merrow resume continues it."""
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.run_names import evaluation_meant

    with closing(Store.open()) as store:
        evaluation = evaluation_meant(store, run)
        if evaluation is not None:
            from merrow_optimizer.evaluation.sessions import request_cancel, state_of

            if request_cancel(store, store.evaluations, evaluation):
                echo(f"Evaluation {evaluation} was asked to end; what is finished is kept.")
                return
            complain(
                f"No process works on evaluation {evaluation}: it is {state_of(store, store.evaluations.get(evaluation))}."
            )
            ctx.exit(NOT_WELL)
        identity = store.run(run).id
        if store.request_cancel(identity):
            echo(f"Run {identity} was asked to end; its calls in flight are stopped.")
            return
        complain(f"No process works on run {identity}: it is {store.run(identity).status}.")
        ctx.exit(NOT_WELL)
