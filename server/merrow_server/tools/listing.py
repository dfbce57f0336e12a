"""Servers of tools and their tools as data: what may be started, what is pinned, and what is known to differ from its pin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from merrow_analysis.tools.pins import LOCAL, PinnedTool, Pins, shown
from merrow_runtime.models.user_settings import settings_path
from merrow_runtime.outside.known_servers import KnownServer, KnownServers
from merrow_runtime.outside.user_servers import agreement_on
from merrow_runtime.program.tool_parameters import pin_text
from merrow_server.tools.pinning import Said, local_tools

Json = dict[str, Any]
State = Literal["pinned", "differs", "gone", "unpinned"]
"""``differs``: what its server says is not what is pinned; ``gone``: its server does not have it any more."""

_LONGEST = 2_000
"""Characters that are shown of what a server says of a tool."""


def listing(
    known: KnownServers,
    pins: Pins,
    path: Path,
    names: Sequence[str] = (),
    said: Mapping[str, Said] | None = None,
    used: Mapping[str, float] | None = None,
) -> Json:
    """The servers with these names, or all: ``{workspace, pins, settings, consents, servers, unknown, problems}``. ``unknown``
    are servers that have pins and nothing else.

    ``said`` is what servers said of their tools when they were last asked, ``used`` when tools were last called. Nothing is
    started: of a server that is not in ``said`` only its pins are known. Raises `UsageFailure` for a name that there is not.
    """
    answers = {**(said or {}), LOCAL: local_tools(known)}
    rows = [
        _row(one, known, pins, answers, used or {})
        for one in ([known.named(name) for name in names] if names else known.all())
    ]
    return {
        "workspace": str(known.workspace),
        "pins": str(path),
        "settings": str(settings_path()),
        "consents": str(known.consents.path),
        "servers": rows,
        "unknown": sorted(set(pins.servers) - {one.name for one in known.all()} - {LOCAL}),
        "problems": known.problems,
    }


def _row(
    one: KnownServer, known: KnownServers, pins: Pins, said: Mapping[str, Said], used: Mapping[str, float]
) -> Json:
    server = LOCAL if one.tool is not None else one.name
    pinned, answer = pins.servers.get(server, {}), said.get(server)
    names = sorted({*pinned, *(() if answer is None else answer.tools)})
    tools = [name for name in names if one.tool is None or name == one.tool.name]
    definition = one.shown_definition if one.server is not None or one.tool is not None else None
    return {
        "name": one.name,
        "source": str(one.source),
        "trust": one.trust,
        "problem": one.problem or None,
        "notes": list(one.notes),
        "definition": definition,
        "digest": None if definition is None else one.digest,
        "tools": [_tool(one, known, name, pinned.get(name), answer, used) for name in tools],
    }


def _tool(
    one: KnownServer,
    known: KnownServers,
    name: str,
    pin: PinnedTool | None,
    answer: Said | None,
    used: Mapping[str, float],
) -> Json:
    server = one.server
    now = None if answer is None else answer.tools.get(name)
    about = pin or now
    full_name = f"{LOCAL if one.tool is not None else one.name}.{name}"
    is_agreed = pin is not None and known.consents.has(agreement_on(full_name, pin_text(pin), known))
    return {
        "name": name,
        "tool": full_name,
        "state": _state(pin, answer, now),
        "description": "" if about is None else shown(about.description)[:_LONGEST],
        "sha256": None if pin is None else pin.sha256,
        "repeatable": server is not None and server.may_repeat(name),
        "allow": server is not None and server.may_call(name),
        # The consent to the file of a local tool is also that to call it.
        "agreed": is_agreed or (one.tool is not None and one.trust == "trusted"),
        "last_used": used.get(full_name),
    }


def _state(pin: PinnedTool | None, answer: Said | None, now: PinnedTool | None) -> State:
    if pin is None:
        return "unpinned"
    if not pin.is_whole:
        return "differs"
    if answer is None:
        return "pinned"
    if now is None:
        return "gone"
    return "pinned" if now.same == pin.same else "differs"
