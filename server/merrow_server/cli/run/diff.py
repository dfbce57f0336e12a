"""``merrow diff``: what a run keeps when its workflow becomes another one."""

from __future__ import annotations

import json

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.cli.texts.difference import difference_lines
from merrow_server.errors import InputError
from merrow_server.rendering.terminal import echo, emit


@click.command(
    "diff",
    cls=Command,
    epilog="""
    merrow diff flow.mmd better.mmd                      with all of flow.mmd finished
    merrow diff flow.mmd better.mmd --finished DRAFT,PLAN
    merrow diff flow.mmd better.mmd --format json
    """,
)
@click.argument("old", metavar="OLD", shell_complete=shell_completion.files)
@click.argument("new", metavar="NEW", shell_complete=shell_completion.files)
@click.option("--finished", metavar="NODES", help="The finished nodes, separated by commas; all by default.")
@format_option("How to print the differences.")
@click.pass_context
def command(ctx: click.Context, /, old: str, new: str, finished: str | None, output: str) -> None:
    """Show which results a run of OLD would keep if it continued as NEW. No model is asked.

    A finished node keeps its result if its definition is unchanged and it gets the same inputs, in the same
    order, from nodes that are kept. A real run keeps more: it compares the values that a node gets, not where
    they come from.

    The exit code is 1 when NEW can't replace OLD.
    """
    from merrow_analysis.suggest import closest
    from merrow_runtime import load
    from merrow_runtime.errors import UsageFailure
    from merrow_runtime.revising.difference import RevisionDifference, difference

    before = load(old)
    done = None if finished is None else [name.strip() for name in finished.split(",") if name.strip()]
    for name in done or ():
        if name not in before.graph.by_id:
            near = closest(name, before.graph.by_id)
            raise InputError(f"{old} has no node {name}." + (f" Did you mean {near}?" if near else ""))
    try:
        changes = difference(before, load(new), done)
    except InputError:
        raise
    except UsageFailure as problem:
        changes = RevisionDifference(refused=(str(problem),))
    if output == "json":
        emit(json.dumps(changes.to_json(), indent=2))
    else:
        for line in difference_lines(changes):
            echo(line)
    if changes.refused:
        ctx.exit(NOT_WELL)
