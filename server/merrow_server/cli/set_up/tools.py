"""``merrow tools``: servers of tools, their pins, and the user's consent to start them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.rendering.snippet import plain, visible
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_runtime.outside.known_servers import KnownServers
    from merrow_server.tools.pinning import Changed

_ACTIONS = ("add", "pull", "list", "check", "trust", "forget", "new")
_TRUST = {"yours": "in your settings", "trusted": "trusted", "untrusted": "not trusted", "unusable": "can't be used"}
_STATES = {"pinned": "pinned", "differs": "differs from its pin", "gone": "pinned, and gone", "unpinned": "not pinned"}
_OPTIONS = {
    "add": {"url", "env", "cwd", "source"},
    "pull": {"accept"},
    "list": {"as_json"},
    "check": {"as_json"},
    "trust": {"yes"},
}
"""The options that each action takes."""
_DIFFERENCE = {"+": "green", "-": "red"}


@click.command(
    "tools",
    cls=Command,
    epilog="""
    merrow tools add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
    merrow tools add shop --url https://shop.example/mcp
    merrow tools add --from vscode github                  copy one from mcp.json of another program
    merrow tools pull files read_text_file                 pin a tool, so that workflows can use it
    merrow tools list
    merrow tools check                                     whether the servers still say what is pinned
    merrow tools trust github                              start what this workspace proposes
    merrow tools new convert                               a tool of your own: tools/convert.py
    """,
)
@click.argument("action", type=click.Choice(_ACTIONS))
@click.argument("words", nargs=-1, metavar="[NAME] [TOOL... | -- COMMAND...]")
@click.option("--url", metavar="URL", help="add: the address of a server that speaks streamable HTTP.")
@click.option("--env", metavar="NAME", multiple=True, help="add: an environment variable that the program gets.")
@click.option(
    "--cwd", metavar="FOLDER", shell_complete=shell_completion.files, help="add: where the program is started."
)
@click.option(
    "--from",
    "source",
    metavar="FILE|vscode|cursor|claude",
    shell_complete=shell_completion.files,
    help="add: copy the server NAME from this file, or from the one of a program.",
)
@click.option("--accept", is_flag=True, help="pull: pin also what has characters that can't be seen.")
@click.option("--yes", is_flag=True, help="trust: agree without being asked.")
@click.option("--json", "as_json", is_flag=True, help="list and check: print JSON.")
@click.pass_context
def command(ctx: click.Context, /, action: str, words: tuple[str, ...], **options: Any) -> None:
    """Use tools of the Model Context Protocol, and tools of your own.

    `add` writes a server into your own settings. `pull` starts it and writes what it says of its tools into merrow.tools.json,
    by which workflows are checked. `check` compares both; its exit code is 1 if they differ. `list` shows servers, pins and
    trust. `trust` and `forget` say whether what a workspace proposes (.mcp.json, .vscode/mcp.json, tools/*.py) may be started.
    `new` writes a tool that is a Python function.
    """
    for name, value in options.items():
        if value and name not in _OPTIONS.get(action, ()):
            shown = "--" + {"source": "from", "as_json": "json"}.get(name, name)
            raise click.UsageError(f"merrow tools {action} does not take {shown}.")
    if action in ("list", "check"):
        ctx.exit((_list if action == "list" else _check)(words, as_json=options["as_json"]))
    if not words:
        raise click.UsageError(f"Name the server or the tool: merrow tools {action} NAME.")
    if action not in ("add", "pull") and len(words) > 1:
        raise click.UsageError(f"merrow tools {action} takes one name.")
    if action == "add":
        _add(words[0], words[1:], **options)
    elif action == "pull":
        ctx.exit(_pull(words[0], words[1:], accept=options["accept"]))
    elif action == "trust":
        ctx.exit(_trust(words[0], agrees=options["yes"]))
    elif action == "forget":
        _forget(words[0])
    else:
        _new(words[0])


def _add(
    name: str,
    words: tuple[str, ...],
    url: str | None,
    env: tuple[str, ...],
    cwd: str | None,
    source: str | None,
    **_: Any,
) -> None:
    from merrow_server.tools import adding

    notes: list[str] = []
    if source is not None:
        if words or url is not None or env or cwd is not None:
            raise click.UsageError("--from copies a server as it is: leave out COMMAND, --url, --env and --cwd.")
        server, notes = adding.copied(name, source, Path())
    else:
        server = adding.described(name, words, url, env, cwd)
    path = adding.add(server)
    emit(f"{visible(str(path))} has the server {name} now: {visible(adding.shown(server))}")
    for note in notes:
        echo(f"{style('Note:', fg='yellow')} {visible(note)}", err=True)
    emit(f"Pin its tools with: merrow tools pull {name}")


def _pull(name: str, tools: tuple[str, ...], *, accept: bool) -> int:
    from merrow_server.tools.pinning import pull
    from merrow_server.tools.servers import known_servers

    with _told_why():
        pulled = pull(known_servers(Path()), name, tools, Path())
    for problem in pulled.problems:
        echo(f"{style('Left out:', fg='yellow')} {visible(problem)}", err=True)
    for change in pulled.changed:
        _show(change)
    if pulled.hides and not accept:
        echo(
            f"{style('merrow:', fg='red', bold=True)} Nothing is pinned: these descriptions have characters that can't be seen,"
            " which models read all the same. If you want them, add --accept.",
            err=True,
        )
        return NOT_WELL
    if pulled.changed:
        pulled.write()
    what = "1 tool" if pulled.count == 1 else f"{pulled.count} tools"
    emit(f"{visible(str(pulled.path))} has {what} of {name}" + ("." if pulled.changed else "; nothing differs."))
    return 0


def _check(names: tuple[str, ...], *, as_json: bool) -> int:
    from merrow_analysis.rules.effects.pin_rules import TOOL_DIFFERS
    from merrow_server.tools.pinning import check
    from merrow_server.tools.servers import known_servers

    changed, problems = check(known_servers(Path()), names, Path())
    if as_json:
        emit(json.dumps({"differs": [change.to_json() for change in changed], "problems": problems}, indent=2))
    else:
        for change in changed:
            _show(change, code=f"{TOOL_DIFFERS.code} ")
        for problem in problems:
            echo(visible(problem), err=True)
        if not changed and not problems:
            emit("The servers say what is pinned.")
    return NOT_WELL if changed or problems else 0


def _show(change: Changed, code: str = "") -> None:
    echo(style(f"{code}{visible(change.sentence)}", bold=True))
    for line in plain(change.difference).split("\n"):
        echo(f"  {style(line, fg=_DIFFERENCE.get(line[:1]))}")
    for hidden in change.hidden:
        echo(f"  {style('can not be seen:', fg='yellow')} {visible(hidden)}")


def _list(names: tuple[str, ...], *, as_json: bool) -> int:
    from merrow_server.tools.adding import shown
    from merrow_server.tools.listing import listing
    from merrow_server.tools.servers import known_servers, pins_path, read_pins_of

    known = known_servers(Path())
    path = pins_path(Path())
    found = listing(known, read_pins_of(path), path, names)
    if as_json:
        emit(json.dumps(found, indent=2))
        return 0
    listed = [known.named(name) for name in names] if names else known.all()
    elsewhere = found["unknown"]
    for one, row in zip(listed, found["servers"], strict=True):
        echo(f"{style(visible(one.name), bold=True)}  {_TRUST[one.trust]}  {visible(str(one.source))}")
        if one.problem:
            echo(f"  {visible(one.problem)}")
        elif one.server is not None and one.tool is None:
            echo(f"  {visible(shown(one.server))}")
        for tool in row["tools"]:
            may = [word for word in ("repeatable", "allow") if tool[word]]
            echo(f"  {visible(tool['name'])}  {_STATES[tool['state']]}" + (f", {' and '.join(may)}" if may else ""))
    for name in elsewhere if not names else ():
        echo(f"{style(name, bold=True)}  is pinned, and is not in your settings. Add it with: merrow tools add {name}")
    for problem in known.problems:
        echo(visible(problem), err=True)
    if not listed and not elsewhere:
        echo("There are no servers of tools. Add one with: merrow tools add NAME -- COMMAND", err=True)
    return 0


def _trust(name: str, *, agrees: bool) -> int:
    from merrow_server.errors import InputError
    from merrow_server.tools.servers import known_servers

    known = known_servers(Path())
    one = known.named(name)
    if one.trust == "unusable":
        raise InputError(one.problem)
    if one.trust != "untrusted":
        emit(
            f"{name} {'is in your own settings and needs' if one.trust == 'yours' else 'is trusted and needs'} no consent."
        )
        return 0
    echo(f"{visible(str(one.source))} proposes {style(name, bold=True)}:", err=True)
    for key, value in one.shown_definition.items():
        echo(f"  {key}: {visible(json.dumps(value, ensure_ascii=False))}", err=True)
    for note in one.notes:
        echo(f"{style('Note:', fg='yellow')} {visible(note)}", err=True)
    if not agrees:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InputError("Nobody can be asked here. If you trust what is shown, add --yes.")
        if not click.confirm("It can do all that you can do on this machine. Do you trust it?", err=True):
            return NOT_WELL
    known.consents.add(one.digest, name, str(known.workspace))
    emit(f"{name} is trusted in {visible(str(known.workspace))} until its definition changes.")
    return 0


def _forget(name: str) -> None:
    from merrow_server.tools.servers import known_servers

    known: KnownServers = known_servers(Path())
    if known.consents.remove(name, str(known.workspace)):
        emit(f"{visible(name)} is not trusted any more in {visible(str(known.workspace))}.")
    elif any(one.name == name and one.trust == "yours" for one in known.all()):
        from merrow_runtime.models.user_settings import settings_path

        emit(
            f"{name} is in your own settings: to remove it, delete [servers.{name}] in {visible(str(settings_path()))}."
        )
    else:
        emit(f"{visible(name)} was not trusted in {visible(str(known.workspace))}.")


def _new(name: str) -> None:
    from merrow_server.tools.new_tool import new_tool

    path = new_tool(name, Path())
    emit(
        f"{path} is written. Change what it does, then: merrow tools pull local {name}, and merrow tools trust local.{name}"
    )


@contextlib.contextmanager
def _told_why() -> Iterator[None]:
    """What a server wrote to its standard error is shown where it failed."""
    from merrow_runtime.errors import ToolFailure

    try:
        yield
    except ToolFailure as failure:
        if failure.told:
            echo("The server wrote to its standard error:", err=True)
            for line in failure.told.split("\n"):
                echo(f"  {visible(line)}", err=True)
        raise
