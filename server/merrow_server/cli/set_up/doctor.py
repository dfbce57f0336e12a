"""``merrow doctor``: what is installed, which endpoint is reached, what holds generated code."""

from __future__ import annotations

import json
import sys

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.errors import InputError
from merrow_server.files import discover
from merrow_server.health import health
from merrow_server.rendering.terminal import echo, emit, style


@click.command(
    "doctor",
    cls=Command,
    epilog="""
    merrow doctor
    merrow doctor flow.mmd                              whether the endpoint has the models of this workflow
    merrow doctor --base-url http://localhost:11434/v1
    merrow doctor --format json
    """,
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=shell_completion.files)
@click.option("--base-url", metavar="URL", help="Check this endpoint.")
@click.option("--no-discovery", is_flag=True, help="Don't look for model servers on this machine.")
@format_option()
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], base_url: str | None, no_discovery: bool, output: str) -> None:
    """Show what is installed, which model endpoint is used, whether it answers and has the models that the workflows in PATH
    (this folder by default) ask for, where runs are kept, and what isolates generated code on this machine. No model is called.

    Without an endpoint, on a terminal, it looks whether Ollama, LM Studio, llama.cpp, vLLM or LiteLLM answers on this
    machine, and says how to use it.

    The exit code is 1 when something that a run needs is missing.
    """
    discovered = discover(paths or (".",))
    if paths and discovered.problems:
        raise InputError(discovered.problems[0])
    files = (target.name for target in discovered.targets if target.path is not None)
    report = health(base_url, discovers=not no_discovery and sys.stdout.isatty(), files=files)
    if output == "json":
        emit(json.dumps(report, indent=2))
    else:
        for title, part in report.items():
            echo(style(title, bold=True))
            for line in part["lines"]:
                echo(f"  {_mark(line['ok'])} {line['text']}")
    if not all(part["ok"] for part in report.values()):
        ctx.exit(NOT_WELL)


def _mark(ok: bool | None) -> str:
    if ok is None:
        return "-"
    return style("ok", fg="green") if ok else style("no", fg="red")
