"""What a run asks of the servers of its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.requests import ToolCall, ToolLeg, ToolQuestion, ToolQuestions, ToolResult

Pinned = tuple[str, str]
"""A tool by its name in workflows, and what its pin is known by."""


FIRST_LEG = ToolLeg()

AsksMeanwhile = Callable[[ToolQuestion, float], Awaitable[Mapping[str, Any]]]
"""Puts a question to a person for so many seconds, and gives what is answered: an ``action`` and its ``content``."""


class ToolServers(Protocol):
    """Who calls tools: the servers of the user's settings, what is known of their results, or functions in their place. Several
    runs can share one; its owner closes it.
    """

    @property
    def are_real(self) -> bool:
        """Whether these are the tools themselves."""
        ...

    def check(
        self,
        folder: Path,
        tools: Mapping[Pinned, str],
        pins: Callable[[], Mapping[Pinned, PinnedTool]],
        *,
        unattended: bool,
        offered: Collection[Pinned] = (),
    ) -> None:
        """See that what a workflow in ``folder`` calls can be called, before the first call. ``tools`` has for each the id of a
        node that calls it, and ``pins`` gives what is pinned. ``unattended`` says that nobody is there to agree, nor to say what
        came of a call. Those of the tools that are only ``offered`` to agents need no consent: a person is asked about each call.

        Raises `UsageFailure`.
        """
        ...

    def may_repeat(self, call: ToolCall) -> bool:
        """Whether a call may be made again."""
        ...

    def may_use(self, call: ToolCall) -> bool:
        """Whether nobody need be asked before a call that a model asks for."""
        ...

    async def prepare(self, call: ToolCall) -> None:
        """Start or reach the server of a tool, and see that it says of it what the pin says. Raises `ToolFailure`."""
        ...

    async def call(
        self,
        call: ToolCall,
        seconds: float | None,
        leg: ToolLeg = FIRST_LEG,
        asks: AsksMeanwhile | None = None,
        *,
        ends: bool = False,
    ) -> ToolResult | ToolQuestions:
        """Call a tool, and wait for its result for so many seconds at most (None: as the settings have it). A server that asks in
        the place of a result is called again with the ``leg`` that brings the answers; ``asks`` puts what one asks meanwhile.
        With ``ends`` a text that is too long is its beginning and its end.

        Raises `StaleStateFailure` where it does not know the state of the leg any more, or another `ToolFailure`.
        """
        ...

    async def close(self) -> None:
        """End what was started for it, and wait until it is gone."""
        ...
