"""What a run asks of the servers of its tools."""

from __future__ import annotations

from typing import Protocol

from merrow_runtime.requests import ToolCall, ToolResult


class ToolServers(Protocol):
    """Who calls tools: the servers of the user's settings, with what these say about their tools."""

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
