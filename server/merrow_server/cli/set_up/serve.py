"""``merrow serve``: the language server."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from merrow_server.cli import Command
from merrow_server.errors import InputError


@click.command(
    "serve",
    cls=Command,
    epilog="""
    merrow serve                        on standard input and output, as editors start it
    merrow serve --log-file merrow.log  with a log
    merrow serve --tcp 9257             for one client that connects to this port of this machine
    """,
)
@click.option(
    "--tcp", "port", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on this port instead; 0: any free one."
)
@click.option("--log-file", type=click.Path(dir_okay=False), metavar="FILE", help="Write a log to this file.")
@click.option(
    "--stdio",
    is_flag=True,
    hidden=True,
    help="Use standard input and output (the default; some editors add this option).",
)
@click.pass_context
def command(ctx: click.Context, port: int | None, log_file: str | None, stdio: bool) -> None:
    """Run the language server, on standard input and output."""
    if stdio and port is not None:
        raise click.UsageError("--stdio and --tcp exclude each other; leave one out.", ctx)
    # Little of what imports make is garbage, yet enough to be worth its memory; the server takes over from here.
    gc.set_threshold(5_000, 20, 100)
    from merrow_server.language_server import serve

    try:
        ctx.exit(serve(port=port, log_file=None if log_file is None else Path(log_file)))
    except OSError as problem:
        reason = problem.strerror or problem
        if problem.filename is not None:
            raise InputError(f"The log file {log_file} can't be written: {reason}. Name another one.") from None
        raise InputError(f"The language server can't start: {reason}.") from None
