"""``merrow mutate``: safe mutations of a workflow, listed, applied, or drawn at random."""

from __future__ import annotations

import click

from merrow_optimizer.mutations.operator_names import MAX_NODES
from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.options.common import CONFIG_OPTIONS, diagram_argument, format_option, with_options


@click.command(
    "mutate",
    cls=Command,
    epilog="""
    merrow mutate flow.mmd --list                         every safe mutation, a line each
    merrow mutate flow.mmd --apply 3f2a90c1d4e7           the mutant of that id, on standard output
    merrow mutate flow.mmd --apply 3f2a90c1d4e7 --write   the same, written to flow.mmd
    merrow mutate flow.mmd --random 5 --seed 1            five in a row, as differences
    merrow mutate flow.mmd --random 100 --seed 1 --format json | jq -r .title
    """,
)
@diagram_argument
@click.option("--list", "listing", is_flag=True, help="List every safe mutation.")
@click.option("--apply", "identifier", metavar="ID", help="Print the workflow after the mutation with this id.")
@click.option(
    "--write", "write_files", is_flag=True, help="With --apply: write FILE, and files that come with the mutation."
)
@click.option(
    "--random", "count", type=click.IntRange(min=0), metavar="N", help="N random safe mutants, one after another."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--max-nodes",
    type=click.IntRange(min=1),
    default=MAX_NODES,
    show_default=True,
    metavar="N",
    help="How many nodes a mutant may grow to.",
)
@format_option("How to print; json prints one object on each line.")
@with_options(CONFIG_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    listing: bool,
    identifier: str | None,
    write_files: bool,
    count: int | None,
    seed: int,
    max_nodes: int,
    output: str,
    config: str | None,
    no_config: bool,
) -> None:
    """Change the workflow in FILE so that it stays valid.

    Use exactly one of --list, --apply and --random. The same file and seed give the same mutants. FILE itself
    is changed only with --write, and a mutation that moves a part to a new file never overwrites an existing
    one. The exit code is 1 when the mutation asked for is not safe, or when no safe one is left.
    """
    if sum((listing, identifier is not None, count is not None)) != 1:
        raise click.UsageError("Say one of --list, --apply ID and --random N.", ctx)
    if write_files and identifier is None:
        raise click.UsageError("--write goes with --apply ID.", ctx)
    # Here, since help and mistakes on the command line need none of it.
    from merrow_server.changes.mutating import apply_move, choice_for, list_moves, open_workflow, print_random

    opened = open_workflow(file, config, use_files=not no_config)
    choice = choice_for(opened, max_nodes, config, use_files=not no_config)
    as_json = output == "json"
    if listing:
        if not list_moves(opened, choice, as_json):
            ctx.exit(NOT_WELL)
    elif identifier is not None:
        if not apply_move(opened, choice, identifier, as_json, write_files):
            ctx.exit(NOT_WELL)
    elif count is not None and not print_random(opened, choice, count, seed, as_json):
        ctx.exit(NOT_WELL)
