"""The servers of tools that a run uses: those that the user has set up or agreed to, each started when it is first used."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_analysis.tools.pins import LOCAL, PinnedTool, PinsError, pinned
from merrow_runtime.calls.tool_servers import FIRST_LEG, AsksMeanwhile, Pinned
from merrow_runtime.errors import ToolFailure, UsageFailure
from merrow_runtime.models.redaction import holds
from merrow_runtime.models.tool_servers import ToolServer, digest
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.outside.consent import ConsentFailure, Consents
from merrow_runtime.outside.known_servers import KnownServers
from merrow_runtime.outside.local_tools import LocalTool
from merrow_runtime.outside.packages import check_packages
from merrow_runtime.outside.pinned_results import check_result
from merrow_runtime.outside.scripts import is_archived
from merrow_runtime.program.tool_parameters import GYMNASIUM, UNPINNED, pin_text
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_runtime.provenance import listed
from merrow_runtime.requests import ToolCall, ToolLeg, ToolQuestions, ToolResult
from merrow_runtime.values import canonical

if TYPE_CHECKING:
    from merrow_runtime.outside.sessions import Sessions


GYMNASIUM_HOST = "merrow_runtime.outside.hosts.gymnasium_host"


class NotAgreedFailure(ConsentFailure):
    """A workflow in ``folder`` calls ``tools`` of which the user has not said that workflows of this ``workspace`` may call them.
    ``agreements`` are what the user agrees to, tools with their pins (`pin_text`), by the hash that is kept.
    """

    button = "Allow"

    def __init__(self, agreements: Mapping[str, tuple[str, str]], workspace: str, folder: Path) -> None:
        self.agreements, self.workspace, self.folder = agreements, workspace, folder
        self.tools = [tool for tool, _ in agreements.values()]
        calls, them = ("the tool", "it") if len(self.tools) == 1 else ("the tools", "them")
        self.situation = f"The workflow calls {calls} {listed(self.tools)}, which can act for you."
        self.question = f"May the workflows of this folder call {them}?"
        server = self.tools[0].partition(".")[0]
        super().__init__(
            f"{self.situation} Agree on a terminal, where `merrow run` asks, or add {them} to `allow` in [servers.{server}] of"
            " your settings."
        )

    def is_given(self) -> bool:
        """See `ConsentFailure.is_given`."""
        consents = Consents()
        return all(map(consents.has, self.agreements))

    def agree(self) -> None:
        """Keep that the user agrees. Raises `InputError`."""
        consents = Consents()
        for hashed, (tool, _) in self.agreements.items():
            consents.add(hashed, tool, self.workspace)


class UserServers:
    """`merrow_runtime.calls.tool_servers.ToolServers` of a run. ``key`` gives what no tool is ever sent, if there is such."""

    def __init__(self, key: Callable[[], str | None]) -> None:
        self._key = key
        self._known: dict[Path, KnownServers] = {}
        self._servers: dict[tuple[str, str], ToolServer] = {}
        self._pins: dict[Pinned, PinnedTool] = {}
        self._sessions: Sessions | None = None

    @property
    def are_real(self) -> bool:
        """They are."""
        return True

    def check(
        self,
        folder: Path,
        tools: Mapping[Pinned, str],
        pins: Callable[[], Mapping[Pinned, PinnedTool]],
        *,
        unattended: bool = False,
        offered: Collection[Pinned] = (),
    ) -> None:
        """See `ToolServers.check`. Nothing is started. Raises `NotAgreedFailure`, or another `UsageFailure`: for a server that
        does not exist or may not be started, and for tools that may not run ``unattended``.
        """
        check_packages()
        known = self._known.get(folder)
        if known is None:
            root = WorkspaceFinder().root(folder)
            known = self._known[folder] = KnownServers(read_user_settings(), root, folder)
        agreements: dict[str, tuple[str, str]] = {}
        if not all(pinned in self._pins for pinned in tools):
            self._pins |= pins()
        for (tool, pin), node in tools.items():
            server, _, name = tool.partition(".")
            if pin.startswith(GYMNASIUM):
                self._servers[tool, pin] = _of_gymnasium(pin.removeprefix(GYMNASIUM), known)
                continue
            if server == LOCAL:
                _check_file(known.named(tool).tool, pin)
                self._servers[tool, pin] = started = known.startable(tool)  # The user has agreed to its text.
            else:
                self._servers[tool, pin] = started = known.startable(server)
            if unattended and not (started.may_call(name) and started.may_repeat(name)):
                raise UsageFailure(_not_unattended(node, tool, started))
            if server == LOCAL:
                continue
            if (tool, pin) in offered:
                continue
            agreement = agreement_on(tool, pin, known)
            if not started.may_call(name) and not known.consents.has(agreement):
                agreements[agreement] = tool, pin
        if agreements:
            raise NotAgreedFailure(agreements, str(known.workspace), folder)

    def may_repeat(self, call: ToolCall) -> bool:
        """See `ToolServers.may_repeat`."""
        return self._server(call).may_repeat(_name(call.tool))

    def may_use(self, call: ToolCall) -> bool:
        """See `ToolServers.may_use`. To a tool of the workspace's own the user has agreed, whatever it is given."""
        return call.tool.partition(".")[0] == LOCAL or self._server(call).may_call(_name(call.tool))

    async def prepare(self, call: ToolCall) -> None:
        """See `ToolServers.prepare`."""
        key = self._key()
        if key is not None and holds(canonical(call.arguments), key):
            raise ToolFailure(f"The arguments for {call.tool} hold the key of an endpoint, which no tool is given.")
        server = self._server(call)
        if call.pin == UNPINNED or call.pin.startswith(GYMNASIUM):
            return  # What an environment's tools are is said by the language.
        if call.tool.partition(".")[0] == LOCAL:
            return  # It is started only while its file is the one that was pinned.
        name = _name(call.tool)
        tools = {str(tool["name"]): tool for tool in await self._opened().tools(server)}
        try:
            now = pinned(server.name, tools[name]) if name in tools else None
        except PinsError as problem:
            raise ToolFailure(str(problem), differs=True) from None
        if now is None:
            raise ToolFailure(f"The server `{server.name}` no longer has the tool {call.tool}.", differs=True)
        if pin_text(now) != call.pin:
            raise ToolFailure(
                f"The tool {call.tool} is not as it was pinned. See what is different with: merrow tools check",
                differs=True,
            )

    async def call(
        self,
        call: ToolCall,
        seconds: float | None,
        leg: ToolLeg = FIRST_LEG,
        asks: AsksMeanwhile | None = None,
        *,
        ends: bool = False,
    ) -> ToolResult | ToolQuestions:
        """See `ToolServers.call`."""
        server = self._server(call)
        try:
            async with asyncio.timeout(seconds):
                result = await self._opened().call(server, _name(call.tool), call.arguments, leg, asks)
        except TimeoutError:
            raise ToolFailure(f"The tool {call.tool} did not answer within its `timeout` of {seconds:g} s.") from None
        if isinstance(result, ToolQuestions):
            return result
        if not (result.is_whole or result.is_error or ends):
            raise ToolFailure(
                f"The tool {call.tool} gave more than the {server.max_result:,} bytes that a result may have; raise `max_result`"
                f" in [servers.{server.name}] of your settings.",
                answered=True,
            )
        fields = result.structured if isinstance(result.structured, dict) else None
        if result.is_whole and not result.is_error:
            check_result(call.tool, self._pins.get((call.tool, call.pin)), result.structured)
        return ToolResult(result.text, fields, result.is_error)

    async def close(self) -> None:
        """End all servers that were started, and wait until they are gone."""
        if self._sessions is not None:
            sessions, self._sessions = self._sessions, None
            await sessions.__aexit__(None, None, None)

    def _opened(self) -> Sessions:
        if self._sessions is None:
            from merrow_runtime.outside.sessions import Sessions  # it takes half a second

            self._sessions = Sessions(proxy=read_user_settings().proxy)
        return self._sessions

    def _server(self, call: ToolCall) -> ToolServer:
        return self._servers[call.tool, call.pin]


class NotStartedFailure(ConsentFailure):
    """A workflow acts in the environment ``name`` of the package gymnasium, which is a program that the user has not agreed to
    start for workflows of this ``workspace``. ``digest`` is what is kept of the consent.
    """

    question = "Start it? It can do all that you can do on this machine."
    button = "Start"

    def __init__(self, name: str, digest: str, workspace: str) -> None:
        self.name, self.digest, self.workspace = name, digest, workspace
        self.situation = f"The workflow acts in {name} of the package gymnasium, which is started as a program."
        super().__init__(f"{self.situation} Agree on a terminal, where `merrow run` asks.")

    def is_given(self) -> bool:
        """See `ConsentFailure.is_given`."""
        return Consents().has(self.digest)

    def agree(self) -> None:
        """Keep that the user agrees. Raises `InputError`."""
        Consents().add(self.digest, self.name, self.workspace)


def _of_gymnasium(name: str, known: KnownServers) -> ToolServer:
    """The server of an environment of the package gymnasium. Raises `NotStartedFailure`."""
    if is_archived():
        raise UsageFailure(
            f"The environment {name} of gymnasium can't be started from a program that was made with --standalone; compile it"
            " without that, or use merrow run."
        )
    # -I: what it imports comes from this Python, and not from the current folder.
    server = ToolServer("gymnasium", (sys.executable, "-I", "-m", GYMNASIUM_HOST, name))
    agreed = digest({**server.definition(), "workspace": str(known.workspace)})
    if not known.consents.has(agreed):
        raise NotStartedFailure(name, agreed, str(known.workspace))
    return server


def agreement_on(tool: str, pin: str, known: KnownServers) -> str:
    """The hash of the user's consent that workflows of a workspace call a tool as it is pinned (`pin_text`)."""
    return digest({"tool": tool, "pin": pin, "workspace": str(known.workspace)})


def _check_file(tool: LocalTool | None, pin: str) -> None:
    """Raise `UsageFailure` where a tool of the workspace is not the file that was pinned."""
    if tool is not None and tool.said is not None and pin_text(pinned(LOCAL, tool.said, tool.sha256)) != pin:
        raise UsageFailure(
            f"{tool.file} has changed since it was pinned. Look at it, then: merrow tools pull local {tool.name}"
        )


def _not_unattended(node: str, tool: str, server: ToolServer) -> str:
    """Why a tool is not called where nobody watches, and what to do."""
    name = tool.partition(".")[2]
    lists = [
        word for word, has in (("allow", server.may_call(name)), ("repeatable", server.may_repeat(name))) if not has
    ]
    return (
        f"Node {node} calls the tool {tool}, and nobody is there to agree or to say what came of a call. If it may be called"
        f" unasked and more than once, add {name} to {' and '.join(f'`{word}`' for word in lists)} in [servers.{server.name}] of"
        " your settings; else use --tools replay, or --fake-tools F.py with functions in its place."
    )


def _name(tool: str) -> str:
    return tool.partition(".")[2]
