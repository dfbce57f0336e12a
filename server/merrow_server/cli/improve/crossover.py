"""``merrow crossover``: safe children of two workflows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import CONFIG_OPTIONS, format_option, with_options
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import emit, style

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis
    from merrow_optimizer.crossover.children import Child
    from merrow_server.opening import Opened


@click.command(
    "crossover",
    cls=Command,
    epilog="""
    merrow crossover a.mmd b.mmd                      two children, cut at a place chosen by the seed
    merrow crossover a.mmd b.mmd --seed 7 --format json | jq -r .text
    merrow crossover a.mmd README.md#2 --all          every child
    """,
)
@click.argument("first", metavar="A", shell_complete=shell_completion.files)
@click.argument("second", metavar="B", shell_complete=shell_completion.files)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed for where the parents are cut.")
@click.option("--all", "every", is_flag=True, help="Print every child, those cut at ensembles and ends first.")
@format_option("How to print: the texts, each with a heading, or one JSON object on each line.")
@with_options(CONFIG_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    first: str,
    second: str,
    seed: int,
    every: bool,
    output: str,
    config: str | None,
    no_config: bool,
) -> None:
    """Cut the workflows A and B at matching typed interfaces and print their children.

    A child has one parent's beginning and the other one's end, or one parent's part between two cuts inside the other.
    Children of valid workflows are valid, and have the prompts that they need. The same files and seed give
    the same
    children. The exit code is 1 when the two have no child.
    """
    # Here, since help and mistakes on the command line need none of it.
    from merrow_optimizer.crossover.children import CrossoverRefusedError, children, crossover
    from merrow_server.opening import open_diagram

    parents = [open_diagram(name, config, use_files=not no_config) for name in (first, second)]
    mine, theirs = (_workflow(parent) for parent in parents)
    made = 0
    folders = [parent.target.base.resolve() for parent in parents]
    together = folders[0] == folders[1]
    try:
        combined = (
            children(mine, theirs, together=together) if every else crossover(mine, theirs, seed, together=together)
        )
        for child in combined:
            made += 1
            _print(child, parents, output)
    except CrossoverRefusedError as problem:
        complain(str(problem))
        ctx.exit(NOT_WELL)
    if not made:
        complain(f"{parents[0].target.name} and {parents[1].target.name} have no child.")
        ctx.exit(NOT_WELL)


def _workflow(opened: Opened) -> Analysis:
    from merrow_optimizer.mutations.original import why_unchangeable

    unchangeable = why_unchangeable(opened.analysis)
    if unchangeable is not None:
        raise InputError(f"{opened.target.name} {unchangeable}.")
    return opened.analysis


def _print(child: Child, parents: list[Opened], output: str) -> None:
    if output == "text":
        emit(style(f"%% {child.id}: {child.title}", bold=True))
        emit(child.text)
        return
    from merrow_server.rendering.child import child_object

    emit(json.dumps(child_object(child, [parent.target.name for parent in parents])))
