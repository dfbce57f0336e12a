"""Pins of tools: what servers say of their tools now, beside what the workspace has pinned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from merrow_analysis.suggest import closest
from merrow_analysis.tools.pins import LOCAL, PinnedTool, Pins, PinsError, difference, hidden_in, pinned
from merrow_runtime.errors import RunFailure, ToolFailure
from merrow_runtime.installing import how_to_install
from merrow_runtime.models.tool_servers import ToolServer, shown_name
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.outside.known_servers import KnownServers
from merrow_server.errors import InputError
from merrow_server.files import write_bytes
from merrow_server.tools.servers import pins_path, read_pins_of


@dataclass(frozen=True, slots=True)
class Changed:
    """A tool of which a server says something else than its pin. ``difference`` is text in which nothing hides; ``hidden`` has
    the characters in it that can't be seen.
    """

    name: str
    is_new: bool
    is_gone: bool
    difference: str
    hidden: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What happened to the tool, in the words of MW504."""
        if self.is_gone:
            return f"{self.name} is pinned, and its server does not have it any more."
        if self.is_new:
            return f"{self.name} is not pinned."
        return f"{self.name} is not as it was pinned."


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull comes to: the pins as they would be, what changes in them, and sentences about tools that can't be pinned."""

    path: Path
    pins: Pins
    changed: tuple[Changed, ...]
    problems: tuple[str, ...]
    count: int
    """How many tools of the server are pinned then."""

    @property
    def hides(self) -> bool:
        """Whether there is something in them that can't be seen."""
        return any(change.hidden for change in self.changed)

    def write(self) -> None:
        """Write the pins. Raises `InputError`."""
        write_bytes(self.path, self.pins.text().encode("utf-8"))


def pull(known: KnownServers, name: str, wanted: Sequence[str], folder: Path) -> Pulled:
    """Ask a server for its tools and compare them with the pins; nothing is written. Without ``wanted`` all are pinned, and pins
    of tools that it does not have any more go. Raises `RunFailure`.
    """
    listed, problems = _tools_of(known, name)
    path = pins_path(folder)
    before = read_pins_of(path)
    for tool in wanted:
        if tool not in listed:
            near = closest(tool, list(listed))
            raise InputError(
                f"The server {shown_name(name)} has no tool {shown_name(tool)}"
                + (f"; did you mean {near}?" if near else ".")
            )
    chosen = {tool: listed[tool] for tool in wanted} if wanted else listed
    pins = before.with_tools(chosen.values())
    gone = [] if wanted else [tool for tool in before.servers.get(name, {}) if tool not in listed]
    pins = pins.without(f"{name}.{tool}" for tool in gone)
    compared = [*chosen, *gone]
    changed = _compared(name, before, {tool: listed.get(tool) for tool in compared})
    return Pulled(path, pins, tuple(changed), tuple(problems), len(pins.servers.get(name, {})))


def check(known: KnownServers, names: Sequence[str], folder: Path) -> tuple[list[Changed], list[str]]:
    """What differs between servers and their pins, and a sentence for each server that can't be asked. Without ``names`` all
    servers that have pins are asked.
    """
    pins = read_pins_of(pins_path(folder))
    changed: list[Changed] = []
    problems: list[str] = []
    for name in names or sorted(pins.servers):
        tools = pins.servers.get(name, {})
        if not tools:
            problems.append(f"No tool of {shown_name(name)} is pinned; pin them with: merrow tools pull {name}")
            continue
        try:
            listed, _ = _tools_of(known, name)
        except RunFailure as problem:
            problems.append(str(problem))
            continue
        changed += _compared(name, pins, {tool: listed.get(tool) for tool in tools})
    return changed, problems


def _compared(server: str, pins: Pins, now: dict[str, PinnedTool | None]) -> list[Changed]:
    changed = []
    for name, tool in now.items():
        before = pins.servers.get(server, {}).get(name)
        if before is not None and tool is not None and before.same == tool.same and before.is_whole:
            continue
        text = difference(before, tool) or "The pin was edited: its hash is not that of what it says."
        hidden = () if tool is None else tuple(hidden_in(tool))
        changed.append(Changed(f"{server}.{name}", before is None, tool is None, text, hidden))
    return changed


def _tools_of(known: KnownServers, name: str) -> tuple[dict[str, PinnedTool], list[str]]:
    """The tools of a server as pins, and a sentence about each that can't be one."""
    if name == LOCAL:
        return _local_tools(known)
    listed = _asked(known.startable(name))
    tools: dict[str, PinnedTool] = {}
    problems = []
    for said in listed:
        try:
            tool = pinned(name, said)
            tools[tool.name] = tool
        except PinsError as problem:
            problems.append(str(problem))
    return tools, problems


def _local_tools(known: KnownServers) -> tuple[dict[str, PinnedTool], list[str]]:
    """The tools that are files; reading them starts nothing."""
    tools: dict[str, PinnedTool] = {}
    problems = []
    for one in known.all():
        if one.tool is not None and one.tool.said is not None:
            tools[one.tool.name] = pinned(LOCAL, one.tool.said, one.tool.sha256)
        elif one.tool is not None:
            problems.append(one.problem)
    return tools, problems


def _asked(server: ToolServer) -> list[dict[str, object]]:
    if find_spec("mcp") is None:
        raise ToolFailure(f"Servers of tools need the extra `tools`; {how_to_install('tools')}")
    from merrow_runtime.outside.sessions import Sessions

    async def ask() -> list[dict[str, object]]:
        async with Sessions(proxy=read_user_settings().proxy) as sessions:
            return await sessions.tools(server)

    return asyncio.run(ask())
