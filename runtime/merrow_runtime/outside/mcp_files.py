"""Definitions of servers in the files that editors and agents keep them in: ``mcp.json`` and its kin."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.tool_servers import VARIABLE, ToolServer, check_name, shown_name
from merrow_runtime.program.workflow_files import read_path

LARGEST = 10_000_000
IN_WORKSPACE = (".mcp.json", ".vscode/mcp.json")
"""Where a workspace proposes servers."""
_LISTS = ("servers", "mcpServers")
_MOST_SERVERS = 200
_COMMENTS = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)')
_LAST_COMMAS = re.compile(r'("(?:\\.|[^"\\\n])*")|,(?=\s*[}\]])')
_PLACE = re.compile(r"\$\{([^}]{0,256})\}")


@dataclass(frozen=True, slots=True)
class ProposedServer:
    """A server in a file. ``server`` is None where it can't be used, and ``problem`` says why. ``notes`` are sentences about what
    was left out of it.
    """

    name: str
    file: Path
    server: ToolServer | None
    problem: str = ""
    notes: tuple[str, ...] = ()


def read_proposals(file: Path, workspace: Path) -> list[ProposedServer]:
    """The servers in a file; ``workspace`` is what ``${workspaceFolder}`` stands for. Raises `InputError`."""
    text = read_path(file, str(file), LARGEST).text
    read = _json(text, file)
    listed = (
        next((read[key] for key in _LISTS if isinstance(read.get(key), dict)), None) if isinstance(read, dict) else None
    )
    if listed is None:
        raise InputError(f"{file} lists no servers: it has neither `servers` nor `mcpServers`.")
    if len(listed) > _MOST_SERVERS:
        raise InputError(f"{file} lists more than {_MOST_SERVERS} servers.")
    return [_proposal(name, entry, file, workspace) for name, entry in listed.items()]


def places(program: str, workspace: Path, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Where ``vscode``, ``cursor`` or ``claude`` keep their servers: in a workspace, then the user's own."""
    home = Path(environment.get("HOME") or Path.home())
    data = {"darwin": home / "Library/Application Support", "win32": Path(environment.get("APPDATA") or home)}
    own = data.get(sys.platform, home / ".config")
    known = {
        "vscode": [workspace / ".vscode/mcp.json", own / "Code/User/mcp.json"],
        "cursor": [workspace / ".cursor/mcp.json", home / ".cursor/mcp.json"],
        "claude": [workspace / ".mcp.json", home / ".claude.json", own / "Claude/claude_desktop_config.json"],
    }
    return known[program]


def _json(text: str, file: Path) -> Any:
    try:
        try:
            return json.loads(text)
        except ValueError:
            # Editors write comments, and commas after the last entry.
            bare = _COMMENTS.sub(lambda match: match[1] or " ", text)
            return json.loads(_LAST_COMMAS.sub(lambda match: match[1] or "", bare))
    except (ValueError, RecursionError):
        raise InputError(f"{file} is not JSON.") from None


def _proposal(name: str, entry: object, file: Path, workspace: Path) -> ProposedServer:
    notes: list[str] = []
    try:
        check_name(name)
        if not isinstance(entry, dict):
            raise ValueError("it is not an object")
        return ProposedServer(name, file, _server(name, entry, workspace, notes), notes=tuple(notes))
    except (ValueError, UsageFailure) as problem:
        said = str(problem).rstrip(".")
        return ProposedServer(name, file, None, f"The server {shown_name(name)} in {file} can't be used: {said}.")


def _server(name: str, entry: Mapping[str, Any], workspace: Path, notes: list[str]) -> ToolServer:
    for key in ("headers", "envFile", "oauth", "auth"):
        if entry.get(key):
            raise ValueError(f"`{key}` is not supported so far")
    if str(entry.get("type", entry.get("transport", ""))).casefold() == "sse":
        raise ValueError("servers of the type `sse` are not supported; use one that speaks streamable HTTP")
    if entry.get("url") is not None:
        url = _text(entry, "url", workspace)
        origin_of(url, "`url`")
        return ToolServer(name, url=url)
    words = entry.get("args", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("`args` is not a list of texts")
    given = entry.get("env") or {}
    if not isinstance(given, dict):
        raise ValueError("`env` is not an object")
    return ToolServer(
        name,
        command=(_text(entry, "command", workspace), *(_filled(word, workspace) for word in words)),
        env=tuple(_variable(key, value, notes) for key, value in given.items()),
        cwd=_text(entry, "cwd", workspace) if entry.get("cwd") is not None else None,
    )


def _text(entry: Mapping[str, Any], key: str, workspace: Path) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"`{key}` is not a text")
    return _filled(value, workspace)


def _variable(key: str, value: object, notes: list[str]) -> str:
    """The name of an environment variable that a server gets. Its value in the file is never taken: it may be a key."""
    if not VARIABLE.fullmatch(key):
        raise ValueError(f"{shown_name(key)} in `env` is not the name of an environment variable")
    text = str(value) if isinstance(value, (str, int, float)) else ""
    if "${input:" in text:
        raise ValueError(
            f"it asks for the value of {key} (`${{input:...}}`); set the environment variable {key}, and write"
            f" `${{env:{key}}}` in its place"
        )
    if text in (f"${{env:{key}}}", f"${{{key}}}"):
        return key
    if text.startswith("${"):
        raise ValueError(f"{key} is given another value than the environment variable {key} has; set that instead")
    notes.append(f"The value of {key} is not taken from the file: set the environment variable {key}.")
    return key


def _filled(text: str, workspace: Path) -> str:
    """A text with the folder of the workspace in it; ``${env:NAME}`` stays, and is replaced when the server is started."""

    def fill(match: re.Match[str]) -> str:
        inner = match[1]
        if inner in ("workspaceFolder", "workspaceRoot"):
            return str(workspace)
        name = inner.removeprefix("env:")
        if VARIABLE.fullmatch(name) and (inner != name or name.isupper()):
            return f"${{env:{name}}}"
        if inner.startswith("input:"):
            raise ValueError(
                "it asks for a value (`${input:...}`); put it into an environment variable, and write `${env:NAME}`"
            )
        raise ValueError(f"{shown_name(match[0])} is not supported; write `${{env:NAME}}` or `${{workspaceFolder}}`")

    return _PLACE.sub(fill, text)
