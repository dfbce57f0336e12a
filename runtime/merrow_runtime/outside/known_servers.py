"""The servers of tools that can be used in a workspace: those of the user's settings, and what the workspace proposes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from merrow_analysis.suggest import closest
from merrow_analysis.tools.pins import LOCAL, shown
from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.models.tool_servers import NAME, ToolServer, digest, shown_name, with_variables
from merrow_runtime.models.user_settings import UserSettings
from merrow_runtime.outside.consent import ConsentFailure, Consents
from merrow_runtime.outside.local_tools import LocalTool, local_tools
from merrow_runtime.outside.mcp_files import IN_WORKSPACE, read_proposals

Trust = Literal["yours", "trusted", "untrusted", "unusable"]


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server, or a local tool, that a workspace can use: ``name`` is that of a server, or ``local.NAME``. ``trust`` says if it
    may be started: it is in the user's own settings, the user has agreed to it, or has not, or ``problem`` says why it can't be
    used. ``definition`` is all that is agreed to.
    """

    name: str
    source: Path
    trust: Trust
    server: ToolServer | None
    definition: Mapping[str, Any]
    problem: str = ""
    notes: tuple[str, ...] = ()
    tool: LocalTool | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of the definition."""
        return digest(self.definition)

    @property
    def shown_definition(self) -> dict[str, Any]:
        """What is agreed to, with variables by their names: their values may be keys."""
        if self.server is None or self.tool is not None:
            return dict(self.definition)
        return {**self.server.definition(), "workspace": self.definition["workspace"]}

    @property
    def definition_text(self) -> str:
        """The same for people, in full: JSON, or the file of a local tool. Nothing hides in it, and no part of it is markup."""
        if self.tool is not None:
            return shown(self.tool.text)
        text = shown(json.dumps(self.shown_definition, indent=2, ensure_ascii=False))
        # Where an editor draws a message, these could be a link to a command, or code.
        return text.replace("`", "\\u0060").replace("](", "\\u005d(")


class NotTrustedFailure(ConsentFailure):
    """``known`` is proposed by a workspace, and is not started before the user agrees to all of its definition."""

    def __init__(self, known: KnownServer, workspace: str) -> None:
        self.known, self.workspace = known, workspace
        is_file = known.tool is not None
        self.situation = f"{known.name} is proposed by {known.source} and is not started before you agree."
        what = "Run this file" if is_file else "Start or reach this server"
        self.question = f"{what}? It can do all that you can do on this machine."
        self.button = "Trust This File" if is_file else "Trust This Server"
        super().__init__(f"{self.situation} See what it is with: merrow tools trust {known.name}")

    def is_given(self) -> bool:
        """See `ConsentFailure.is_given`."""
        return Consents().has(self.known.digest)

    def agree(self) -> None:
        """Keep that the user agrees to this definition. Raises `InputError`."""
        Consents().add(self.known.digest, self.known.name, self.workspace)


class KnownServers:
    """All that ``folder`` in a ``workspace`` can use. Nothing is started by looking."""

    def __init__(
        self, settings: UserSettings, workspace: Path, folder: Path, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.workspace = workspace.resolve()
        self.consents = Consents()
        self.problems: list[str] = []
        """A sentence for each file that can't be read."""
        self._found: dict[str, KnownServer] = {}
        source = settings.path or Path()
        self._of_local = settings.servers.get(LOCAL)
        for name, server in settings.servers.items():
            if name == LOCAL:
                continue
            definition = _resolved(server, self.workspace, environment)
            self._found[name] = KnownServer(name, source, "yours", server, definition)
        for place in IN_WORKSPACE:
            self._propose(self.workspace / place, environment)
        for tool in local_tools(folder.resolve()):
            self._add_local(tool)

    def all(self) -> list[KnownServer]:
        """Those of the user first, then what the workspace proposes, and the local tools."""
        return list(self._found.values())

    def named(self, name: str) -> KnownServer:
        """The one with this name. Raises `UsageFailure` where there is none."""
        found = self._found.get(name)
        if found is not None:
            return found
        near = closest(name, list(self._found))
        hint = (
            f" Did you mean {near}?"
            if near
            else f" Add it with: merrow tools add {name if NAME.fullmatch(name) else 'NAME'} -- COMMAND"
        )
        raise UsageFailure(f"There is no server {shown_name(name)}.{hint}")

    def startable(self, name: str) -> ToolServer:
        """The server with this name, if it may be started. Raises `UsageFailure` where it may not, or there is none."""
        known = self.named(name)
        if known.server is None:
            raise UsageFailure(known.problem)
        if known.trust == "untrusted":
            raise NotTrustedFailure(known, str(self.workspace))
        return known.server

    def _propose(self, file: Path, environment: Mapping[str, str]) -> None:
        if not file.is_file():
            return
        try:
            proposals = read_proposals(file, self.workspace)
        except InputError as problem:
            self.problems.append(str(problem))
            return
        for proposal in proposals:
            if proposal.name in self._found:
                continue  # What the user calls so, a workspace can't make something else.
            server = proposal.server
            if server is None:
                known = KnownServer(proposal.name, file, "unusable", None, {}, proposal.problem)
            else:
                if server.command and server.cwd is None:
                    server = replace(server, cwd=str(self.workspace))
                known = self._judged(
                    KnownServer(
                        server.name,
                        file,
                        "untrusted",
                        server,
                        _resolved(server, self.workspace, environment),
                        notes=proposal.notes,
                    )
                )
            self._found[known.name] = known

    def _add_local(self, tool: LocalTool) -> None:
        name, of = f"{LOCAL}.{tool.name}", self._of_local
        if of is not None and tool.server is not None:
            tool = replace(tool, server=tool.server.under(of))
        definition = {"file": str(tool.file), "sha256": tool.sha256, "workspace": str(self.workspace)}
        known = KnownServer(name, tool.file, "untrusted", tool.server, definition, tool.problem, tool=tool)
        self._found[name] = replace(known, trust="unusable") if tool.problem else self._judged(known)

    def _judged(self, known: KnownServer) -> KnownServer:
        return replace(known, trust="trusted") if self.consents.has(known.digest) else known


def _resolved(server: ToolServer, workspace: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """All that decides what is started or reached, variables filled in; of those that the server gets, the names."""

    def fill(text: str) -> str:
        try:
            return with_variables(text, environment)
        except KeyError:
            return text

    definition = server.definition()
    for key in ("url", "cwd"):
        if key in definition:
            definition[key] = fill(definition[key])
    if "command" in definition:
        definition["command"] = [fill(word) for word in definition["command"]]
    return {**definition, "workspace": str(workspace)}
