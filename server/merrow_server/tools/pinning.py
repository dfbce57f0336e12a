"""Pins of tools: what servers say of their tools now, beside what the workspace has pinned."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_analysis.suggest import closest
from merrow_analysis.tools.pins import LOCAL, PinnedTool, Pins, PinsError, difference, hidden_in, pinned
from merrow_runtime.errors import RunFailure
from merrow_runtime.models.tool_servers import ToolServer, shown_name
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.outside.known_servers import KnownServers
from merrow_runtime.outside.packages import check_packages
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

    def to_json(self) -> dict[str, Any]:
        """What programs are told of it."""
        hidden = list(self.hidden)
        return {"tool": self.name, "message": self.sentence, "difference": self.difference, "hidden": hidden}


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


@dataclass(frozen=True, slots=True)
class Said:
    """What the server ``name`` says of its tools: each as a pin, by its name, and sentences about those that can't be pinned."""

    name: str
    tools: Mapping[str, PinnedTool]
    problems: tuple[str, ...] = ()


def pull(known: KnownServers, name: str, wanted: Sequence[str], folder: Path) -> Pulled:
    """Ask a server for its tools and compare them with the pins, as `compared`. Raises `RunFailure`."""
    return compared(asyncio.run(said_by(known, name)), wanted, folder)


def compared(said: Said, wanted: Sequence[str], folder: Path) -> Pulled:
    """Compare what a server says with the pins; nothing is written. Without ``wanted`` all its tools are pinned, and pins of
    tools that it does not have any more go. Raises `InputError`.
    """
    name, listed = said.name, said.tools
    path = pins_path(folder)
    before = read_pins_of(path)
    for tool in wanted:
        if tool not in listed:
            near = closest(tool, list(listed))
            raise InputError(
                f"The server {shown_name(name)} has no tool {shown_name(tool)}"
                + (f"; did you mean {near}?" if near else ".")
            )
    chosen = {tool: listed[tool] for tool in wanted} if wanted else dict(listed)
    pins = before.with_tools(chosen.values())
    gone = [] if wanted else [tool for tool in before.servers.get(name, {}) if tool not in listed]
    pins = pins.without(f"{name}.{tool}" for tool in gone)
    touched = [*chosen, *gone]
    changed = _changes(name, before, {tool: listed.get(tool) for tool in touched})
    return Pulled(path, pins, tuple(changed), said.problems, len(pins.servers.get(name, {})))


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
            said = asyncio.run(said_by(known, name))
        except RunFailure as problem:
            problems.append(str(problem))
            continue
        changed += differing(said, pins)
    return changed, problems


def differing(said: Said, pins: Pins) -> list[Changed]:
    """The pinned tools of a server of which it says something else now."""
    return _changes(said.name, pins, {tool: said.tools.get(tool) for tool in pins.servers.get(said.name, {})})


def _changes(server: str, pins: Pins, now: dict[str, PinnedTool | None]) -> list[Changed]:
    changed = []
    for name, tool in now.items():
        before = pins.servers.get(server, {}).get(name)
        if before is not None and tool is not None and before.same == tool.same and before.is_whole:
            continue
        text = difference(before, tool) or "The pin was edited: its hash is not that of what it says."
        hidden = () if tool is None else tuple(hidden_in(tool))
        changed.append(Changed(f"{server}.{name}", before is None, tool is None, text, hidden))
    return changed


async def said_by(known: KnownServers, name: str) -> Said:
    """Ask a server for its tools; it is started for this, and ended. Raises `RunFailure`: `NotTrustedFailure` where the user has
    not agreed to start it.
    """
    if name == LOCAL:
        return local_tools(known)
    listed = await _asked(known.startable(name))
    tools: dict[str, PinnedTool] = {}
    problems = []
    for said in listed:
        try:
            tool = pinned(name, said)
            tools[tool.name] = tool
        except PinsError as problem:
            problems.append(str(problem))
    return Said(name, tools, tuple(problems))


def local_tools(known: KnownServers) -> Said:
    """The tools that are files; reading them starts nothing."""
    tools: dict[str, PinnedTool] = {}
    problems = []
    for one in known.all():
        if one.tool is not None and one.tool.said is not None:
            tools[one.tool.name] = pinned(LOCAL, one.tool.said, one.tool.sha256)
        elif one.tool is not None:
            problems.append(one.problem)
    return Said(LOCAL, tools, tuple(problems))


async def _asked(server: ToolServer) -> list[dict[str, object]]:
    check_packages()
    from merrow_runtime.outside.sessions import Sessions

    async with Sessions(proxy=read_user_settings().proxy) as sessions:
        return await sessions.tools(server)
