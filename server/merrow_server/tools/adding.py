"""Writes a server of tools into the user's own settings, from a command line or from the file of another program."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from merrow_analysis.suggest import closest
from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.settings_text import with_server
from merrow_runtime.models.tool_servers import VARIABLE, ToolServer, check_name, shown_name
from merrow_runtime.models.user_settings import settings_path
from merrow_runtime.outside.mcp_files import places, read_proposals
from merrow_server.errors import InputError
from merrow_server.files import write_bytes
from merrow_server.workspace import WorkspaceFinder

PROGRAMS = ("vscode", "cursor", "claude")


def described(name: str, command: Sequence[str], url: str | None, env: Sequence[str], cwd: str | None) -> ToolServer:
    """A server as a command line describes it. Raises `InputError` or `UsageFailure`."""
    _check(name)
    if bool(command) == (url is not None):
        raise InputError(f"Say what the server is: merrow tools add {name} -- COMMAND, or with --url URL.")
    for variable in env:
        if not VARIABLE.fullmatch(variable):
            raise InputError("--env takes the name of an environment variable, not its value.")
    if url is not None:
        if env or cwd is not None:
            raise InputError("--env and --cwd are for a server that is a command, not for a URL.")
        origin_of(url, "URL")
        return ToolServer(name, url=url.strip())
    # Wherever Merrow is started later, it is this folder.
    folder = None if cwd is None else str(Path(cwd).absolute())
    return ToolServer(name, tuple(command), env=tuple(env), cwd=folder)


def copied(name: str, source: str, folder: Path) -> tuple[ToolServer, list[str]]:
    """The server ``name`` of a file or of one of `PROGRAMS`, and sentences about what was left out. Raises `InputError`."""
    _check(name)
    workspace = WorkspaceFinder().root(folder.resolve())
    files = places(source, workspace) if source in PROGRAMS else [Path(source)]
    found: list[str] = []
    for file in files:
        if source in PROGRAMS and not file.is_file():
            continue
        for proposal in read_proposals(file, workspace):
            if proposal.name == name:
                if proposal.server is None:
                    raise InputError(proposal.problem)
                server = proposal.server
                if server.cwd is not None and not server.cwd.startswith(("~", "$")):
                    server = replace(server, cwd=str(workspace / server.cwd))
                return server, list(proposal.notes)
            found.append(proposal.name)
    if not found:
        raise InputError(f"{source} has no servers here: none of {', '.join(map(str, files))} lists any.")
    near = closest(name, found)
    hint = f"did you mean {near}?" if near else f"it has {', '.join(map(shown_name, found[:20]))}."
    raise InputError(f"{source} has no server {shown_name(name)}; {hint}")


def add(server: ToolServer) -> Path:
    """Write a server into the user's settings, where all else stays as it is; the path of the file. Raises `UsageFailure`."""
    path = settings_path()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = with_server(before, server, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode("utf-8"))
    return path


def shown(server: ToolServer) -> str:
    """What a server is, on one line."""
    what = server.url if server.url is not None else shlex.join(server.command)
    parts = [what, *(f"with {name}" for name in server.env)]
    return "  ".join([*parts, f"in {server.cwd}"] if server.cwd else parts)


def _check(name: str) -> None:
    try:
        check_name(name)
    except ValueError as problem:
        raise InputError(f"{problem}.") from None
