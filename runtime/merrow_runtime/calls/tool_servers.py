"""What a run asks of the servers of its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.requests import ToolCall, ToolResult

Pinned = tuple[str, str]
"""A tool by its name in workflows, and what its pin is known by."""


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
    ) -> None:
        """See that what a workflow in ``folder`` calls can be called, before the first call. ``tools`` has for each the id of a
        node that calls it, and ``pins`` gives what is pinned. ``unattended`` says that nobody is there to agree, nor to say what
        came of a call.

        Raises `UsageFailure`.
        """
        ...

    def may_repeat(self, call: ToolCall) -> bool:
        """Whether a call may be made again."""
        ...

    async def prepare(self, call: ToolCall) -> None:
        """Start or reach the server of a tool, and see that it says of it what the pin says. Raises `ToolFailure`."""
        ...

    async def call(self, call: ToolCall, seconds: float | None) -> ToolResult:
        """Call a tool, and wait for its result for so many seconds at most (None: as the settings have it).

        Raises `ToolFailure`.
        """
        ...

    async def close(self) -> None:
        """End what was started for it, and wait until it is gone."""
        ...
