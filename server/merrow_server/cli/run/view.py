"""``merrow view``: a workflow that is followed, or a job of the journal, in a browser."""

from __future__ import annotations

import signal

import click

from merrow_runtime.installing import how_to_install
from merrow_server.cli import INTERRUPTED, OK, Command
from merrow_server.cli.given import shell_completion
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo


@click.command(
    "view",
    cls=Command,
    epilog="""
    merrow view flow.mmd               its drawing, findings and runs, which follow the file
    merrow view guide.md#2             the second diagram of a Markdown file
    merrow view 4f2a                   a run, an evaluation, a search, ... while it goes on, too
    merrow view                        the newest jobs of the journal
    merrow view flow.mmd --no-open     only prints the address, for a browser elsewhere
    """,
)
@click.argument("what", metavar="[FILE|ID]", required=False, shell_complete=shell_completion.anything_or_files)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="The port; 0: any free one.")
@click.option(
    "--open/--no-open", "opens", default=True, show_default=True, help="Open a browser, where there is a desktop."
)
@click.pass_context
def command(ctx: click.Context, /, what: str | None, port: int, opens: bool) -> None:
    """Show a workflow file or a job in a browser: the drawing of FILE with its findings and runs, which follows each save, or the
    page of `merrow share` of a job, which follows it until it ends. Without either, list the newest jobs.

    Only programs on this machine can reach it, and only with the token in the address that is printed. Ctrl-C ends it.
    """
    try:
        from merrow_server.viewing.http import ServedPages
        from merrow_server.viewing.serving import PageServer, serve
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise InputError(f"merrow view needs packages that are not installed; {how_to_install('up')}") from None
    from merrow_server.cli.given.wanted import wanted
    from merrow_server.viewing.desktop import has_desktop, open_in_browser

    meant = wanted(what)

    def begin(shown: ServedPages, server: PageServer) -> None:
        path = server.root + meant.path(shown)
        echo(f"{visible(meant.title)} is shown at {server.origin}{path}")
        echo("Stop it with Ctrl-C.")
        if opens and has_desktop():
            open_in_browser(server.origin + shown.ticket(path))

    ctx.exit(INTERRUPTED if serve(begin, port) == signal.SIGINT else OK)
