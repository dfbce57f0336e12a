"""What a server of tools is started or reached with: its variables filled in, its program found, its environment made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from merrow_runtime.errors import ToolFailure
from merrow_runtime.models.tool_servers import ToolServer, shown_name, with_variables
from merrow_runtime.outside.http import HttpServer
from merrow_runtime.outside.stdio import Program

_ALWAYS = ("PATH", "HOME", "LANG")
_ALWAYS_ON_WINDOWS = (*_ALWAYS, "APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE")


def transport_of(
    server: ToolServer, environment: Mapping[str, str], proxy: str | bool | None, end: Callable[[str], None]
) -> Program | HttpServer:
    """What carries the messages of a server, not yet begun; ``end`` hears why it ended. Raises `ToolFailure`."""
    try:
        command = [with_variables(word, environment) for word in server.command]
        url = None if server.url is None else with_variables(server.url, environment)
        folder = None if server.cwd is None else Path(with_variables(server.cwd, environment)).expanduser()
        given = {name: environment[name] for name in server.env}
    except KeyError as missing:
        raise ToolFailure(
            f"The server `{server.name}` needs the environment variable {missing.args[0]}, which is not set."
        ) from None
    if url is not None:
        return HttpServer(url, proxy=proxy, seconds=server.timeout, end=end)
    if folder is not None and not folder.is_dir():
        raise ToolFailure(f"The folder that `cwd` of the server `{server.name}` names does not exist.")
    always = _ALWAYS if os.name == "posix" else _ALWAYS_ON_WINDOWS
    given = {name: environment[name] for name in always if name in environment} | given
    has_folder = Path(command[0]).name != command[0]
    # A path is relative to the folder in which the program is started.
    sought = str((folder or Path()) / command[0]) if has_folder else command[0]
    program = shutil.which(sought, path=given.get("PATH", os.defpath))
    if program is None:
        raise ToolFailure(
            f"The program {shown_name(server.command[0])} of the server `{server.name}` can't be found;"
            " install it, or correct `command`."
        )
    place = str(Path(program).absolute())
    folder_of_it = None if folder is None else str(folder)
    return Program([place, *command[1:]], given, folder_of_it, write_seconds=server.timeout, end=end)
