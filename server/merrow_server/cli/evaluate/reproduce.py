"""``merrow reproduce``: a paper's experiments, and its table beside ours."""

from __future__ import annotations

import json
from pathlib import Path

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.rendering.terminal import echo, emit, style

_PAPERS = ("mermaidflow", "flow", "a2flow")


@click.command(
    "reproduce",
    cls=Command,
    epilog="""
    merrow reproduce a2flow --exact       the paper's arithmetic, without a model or a key
    """,
)
@click.argument("paper", type=click.Choice(_PAPERS))
@click.option("--exact", is_flag=True, required=True, help="Check the paper's arithmetic; no model is asked.")
@click.option(
    "--data", default=".", show_default=True, metavar="FOLDER", shell_complete=shell_completion.files,
    help="The folder with the data sets, by name; `merrow datasets` lists them.",
)  # fmt: skip
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.pass_context
def command(ctx: click.Context, paper: str, exact: bool, data: str, output: str) -> None:
    """Reproduce the experiments of a paper: MermaidFlow, Flow or A2Flow.

    --exact works out what follows from the paper's own figures with the functions that Merrow plans, searches
    and measures with, and shows where the paper contradicts itself. It exits with 1 if a figure comes to
    something else than is known of it.
    """
    assert exact  # noqa: S101 (it is required)
    ctx.exit(_exact(paper, Path(data), output))


def _exact(name: str, data: Path, output: str) -> int:
    from merrow_optimizer.reproducing.exact import exact
    from merrow_optimizer.reproducing.papers import read_paper
    from merrow_server.reproductions.exact_words import exact_lines

    checks = list(exact(read_paper(name), data))
    if output == "json":
        emit(json.dumps([one.to_json() for one in checks], indent=2, ensure_ascii=False))
    else:
        for line in exact_lines(checks, style):
            echo(line)
    return NOT_WELL if any(one.is_right is False for one in checks) else 0
