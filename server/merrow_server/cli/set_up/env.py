"""``merrow env``: which environments there are, and servers of those that need packages or data of their own."""

from __future__ import annotations

import json
from pathlib import Path

import click

from merrow_analysis.definitions.environments import SHIPPED
from merrow_server.cli import Command
from merrow_server.cli.options.common import format_option
from merrow_server.errors import InputError
from merrow_server.rendering.terminal import echo, emit, style

ALFWORLD, TEXTCRAFT = "alfworld", "textcraft"
_SERVED = {
    TEXTCRAFT: "The same game as a server, for other clients of the protocol.",
    ALFWORLD: "Houses in which something is to be done. Needs the package alfworld and its games (--data).",
}


@click.command(
    "env",
    cls=Command,
    epilog="""
    merrow env                                                         which environments there are
    merrow tools add alfworld -- merrow env alfworld --data ~/alfworld   so that workflows can act there
    merrow env textcraft                                               a server on the standard streams
    """,
)
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder with the games of ALFWorld, where `alfworld-download` has put them.",
)
@click.option(
    "--recipes",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="For textcraft: Minecraft's crafting recipes as JSON, in the place of Merrow's own.",
)
@format_option()
def command(name: str | None, data: Path | None, recipes: Path | None, output: str) -> None:
    """List the environments that workflows can act in, or serve the one called NAME.

    Listed is what `env:` at an Environment can name. With NAME that environment is served to clients of the Model Context
    Protocol on the standard streams, by the tools `reset` and `step`. Add that command with `merrow tools add`, and declare it
    in a workflow: `environments: {house: {server: alfworld}}`.
    """
    if recipes is not None and name != TEXTCRAFT:
        raise InputError("--recipes is for: merrow env textcraft --recipes FOLDER")
    if name is None:
        if data is not None:
            raise InputError("--data is for: merrow env alfworld --data DIR")
        _list(output)
        return
    if name not in _SERVED:
        raise InputError(f"There is no environment {name!r} to serve; there are {' and '.join(_SERVED)}.")
    if name == TEXTCRAFT:
        if data is not None:
            raise InputError("textcraft has no data: leave out --data.")
        from merrow_runtime.environments.textcraft.recipes import RecipesError
        from merrow_runtime.outside.hosts.textcraft_host import serve_textcraft

        try:
            serve_textcraft(recipes)
        except RecipesError as problem:
            raise InputError(str(problem)) from None
        return
    if data is None or not data.is_dir():
        raise InputError("Name the folder with the games: merrow env alfworld --data DIR")
    from merrow_runtime.outside.hosts.alfworld_host import serve_alfworld

    serve_alfworld(data)


def _list(output: str) -> None:
    if output == "json":
        emit(json.dumps({"shipped": dict(SHIPPED), "served": _SERVED}, indent=2))
        return
    for name, what in SHIPPED.items():
        echo(f"{style(name, bold=True)}  {what}")
    echo(f"{style(ALFWORLD, bold=True)}  {_SERVED[ALFWORLD]}")
    echo("  merrow tools add alfworld -- merrow env alfworld --data ~/alfworld")
