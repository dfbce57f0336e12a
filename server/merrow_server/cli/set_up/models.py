"""``merrow models``: what is served where, and which of it to use."""

from __future__ import annotations

import json

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style


@click.command(
    "models",
    cls=Command,
    epilog="""
    merrow models                                       what is served where
    merrow models use http://127.0.0.1:11434/v1         the only model there, from now on
    merrow models use http://127.0.0.1:11434/v1 qwen3   this one
    """,
)
@click.argument("action", metavar="[use]", required=False, type=click.Choice(["use"]))
@click.argument("base_url", metavar="[URL]", required=False, shell_complete=shell_completion.endpoints)
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--no-discovery", is_flag=True, help="Don't look for model servers on this machine.")
@format_option()
@click.pass_context
def command(
    ctx: click.Context, action: str | None, base_url: str | None, model: str | None, no_discovery: bool, output: str
) -> None:
    """List the models of the endpoint that is used, and of servers on this machine: those of Ollama, LM Studio, llama.cpp, vLLM
    and LiteLLM on their usual ports. No model is called, and these servers get no key.

    `use URL [MODEL]` writes an endpoint and a model into your own settings; what else is in them stays as it is. URL is the
    base URL, which mostly ends in /v1.

    The exit code is 1 when the endpoint that is used does not answer.
    """
    if action is None:
        ctx.exit(_list(discovers=not no_discovery, as_json=output == "json"))
    if base_url is None:
        raise click.UsageError("Say which endpoint to use: merrow models use URL [MODEL].")
    from merrow_server.choosing_models import use

    used = use(base_url, model)
    if output == "json":
        emit(json.dumps(used.to_json(), indent=2))
        return
    emit(
        f"{visible(str(used.path))} is written: base_url {used.base_url}, model {used.model or '(none)'}, "
        f"concurrency {used.concurrency}{', free' if used.free else ''}."
    )
    if used.note:
        echo(f"{style('Note:', fg='yellow')} {visible(used.note)}", err=True)


def _list(*, discovers: bool, as_json: bool) -> int:
    from merrow_server.choosing_models import served

    places = served(discovers=discovers)
    if as_json:
        emit(json.dumps({"endpoints": [place.to_json() for place in places]}, indent=2))
    elif not places:
        echo(
            "No endpoint is set, and no model server was found on this machine. docs/models.md says how to start one.",
            err=True,
        )
    else:
        for place in places:
            how = f"used, named by the {place.source}" if place.used else "found on this machine"
            echo(f"{style(visible(place.base_url), bold=True)} ({how})")
            if not place.ok or not place.models:
                echo(f"  {visible(place.sentence)}")
            for name in place.models:
                echo(f"  {visible(name)}")
            if not place.used:
                echo(f"  to use it: {place.command}")
    return NOT_WELL if any(place.used and place.ok is False for place in places) else 0
