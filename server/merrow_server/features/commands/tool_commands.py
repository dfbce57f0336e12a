"""Servers of tools: ``merrow.tools`` lists them, ``merrow.trustServer`` and ``merrow.forgetServer`` say what may be started,
``merrow.pullTools`` pins and ``merrow.checkTools`` compares, ``merrow.addServer`` and ``merrow.newTool`` write new ones.

Each takes one object. ``uri`` is a document or a folder, by default the first folder of the workspace.

- ``merrow.tools`` ``{uri?, names?}`` gives what ``merrow tools list --json`` prints; nothing is started.
- ``merrow.trustServer`` ``{uri?, name, digest?}`` shows the user the whole definition and asks. A client that has shown what
  ``merrow.tools`` lists gives its ``digest``.
- ``merrow.forgetServer`` ``{uri?, name}``: ``name`` may also be that of a tool whose calls were agreed to.
- ``merrow.pullTools`` ``{uri?, server, tools?, accept?}`` and ``merrow.checkTools`` ``{uri?, servers?}`` start servers, with the
  user's consent.
- ``merrow.addServer`` ``{name, command?, url?, from?, env?, cwd?}`` writes into the user's settings.
- ``merrow.newTool`` ``{uri?, name}`` writes the file of a function.
"""

from __future__ import annotations

from typing import Any

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.run_commands import check_trust
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer

TOOLS, TRUST, FORGET = "merrow.tools", "merrow.trustServer", "merrow.forgetServer"
PULL, CHECK = "merrow.pullTools", "merrow.checkTools"
ADD, NEW = "merrow.addServer", "merrow.newTool"


def register(server: MerrowServer) -> None:
    server.command(TOOLS)(tools)
    server.command(TRUST)(trust)
    server.command(FORGET)(forget)
    server.command(PULL)(pull)
    server.command(CHECK)(check)
    server.command(ADD)(add)
    server.command(NEW)(new)


async def tools(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """The servers and tools that workflows in a folder can use."""
    asked = _object(server, arguments)
    return await server.tools.list(server.tools.folder(_text(asked, "uri")), _texts(asked, "names"))


async def trust(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Agree to start a server, or to run a local tool."""
    asked = _object(server, arguments)
    check_trust(server)
    folder = server.tools.folder(_text(asked, "uri"))
    return await server.tools.trust(folder, _needed(asked, "name"), _text(asked, "digest"))


async def forget(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Take an agreement back."""
    asked = _object(server, arguments)
    return await server.tools.forget(server.tools.folder(_text(asked, "uri")), _needed(asked, "name"))


async def pull(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Pin what a server says of its tools."""
    asked = _object(server, arguments)
    check_trust(server)
    accept = asked.get("accept", False)
    if not isinstance(accept, bool):
        raise InvalidParameters("`accept` must be true or false.")
    folder = server.tools.folder(_text(asked, "uri"))
    return await server.tools.pull(folder, _needed(asked, "server"), _texts(asked, "tools"), accept=accept)


async def check(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Compare what servers say with their pins."""
    asked = _object(server, arguments)
    check_trust(server)
    return await server.tools.check(server.tools.folder(_text(asked, "uri")), _texts(asked, "servers"))


async def add(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Write a server into the user's settings."""
    asked = _object(server, arguments)
    check_trust(server)
    return await server.tools.add(
        _needed(asked, "name"),
        _texts(asked, "command"),
        _text(asked, "url"),
        _text(asked, "from"),
        _texts(asked, "env"),
        _text(asked, "cwd"),
    )


async def new(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Write the file of a tool."""
    asked = _object(server, arguments)
    check_trust(server)
    return await server.tools.new(server.tools.folder(_text(asked, "uri")), _needed(asked, "name"))


def _object(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    given = as_mapping(arguments[0]) if arguments else {}
    if given is None:
        raise InvalidParameters("The argument must be an object, such as {uri, server}.")
    plain: dict[str, Any] = server.plain(given)
    return plain


def _text(asked: dict[str, Any], key: str) -> str | None:
    value = asked.get(key)
    if not isinstance(value, str | None):
        raise InvalidParameters(f"`{key}` must be a text.")
    return value


def _needed(asked: dict[str, Any], key: str) -> str:
    value = _text(asked, key)
    if not value:
        raise InvalidParameters(f"`{key}` must be a text.")
    return value


def _texts(asked: dict[str, Any], key: str) -> list[str]:
    value = asked.get(key) or []
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InvalidParameters(f"`{key}` must be a list of texts.")
    return value
