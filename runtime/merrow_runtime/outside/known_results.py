"""What tools gave in earlier runs, in the place of the tools themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.calls.tool_servers import FIRST_LEG, AsksMeanwhile, Pinned
from merrow_runtime.calls.tool_use import result_key
from merrow_runtime.errors import ReplayMiss
from merrow_runtime.requests import ToolCall, ToolLeg, ToolResult
from merrow_runtime.store.contract import AnswerCache
from merrow_runtime.values import canonical


class KnownResults:
    """`merrow_runtime.calls.tool_servers.ToolServers` that calls nothing: the newest result that the journal has of the same call
    of the same pinned tool, whichever run made it.
    """

    def __init__(self, known: AnswerCache) -> None:
        self._known = known

    @property
    def are_real(self) -> bool:
        """They are not called."""
        return False

    def check(
        self,
        folder: Path,
        tools: Mapping[Pinned, str],
        pins: Callable[[], Mapping[Pinned, PinnedTool]],
        *,
        unattended: bool,
        offered: Collection[Pinned] = (),
    ) -> None:
        """Nothing is started, so that nothing can be refused."""

    def may_repeat(self, call: ToolCall) -> bool:
        """See `ToolServers.may_repeat`: nothing happens."""
        del call
        return True

    def may_use(self, call: ToolCall) -> bool:
        """See `ToolServers.may_use`: nothing is done that somebody could refuse."""
        del call
        return True

    async def prepare(self, call: ToolCall) -> None:
        """Nothing has to be started."""

    async def call(
        self,
        call: ToolCall,
        seconds: float | None,
        leg: ToolLeg = FIRST_LEG,
        asks: AsksMeanwhile | None = None,
        *,
        ends: bool = False,
    ) -> ToolResult:
        """See `ToolServers.call`. Raises `ReplayMiss` for a call whose result is not known."""
        del seconds, leg, asks, ends
        digest = hashlib.sha256(canonical(call.to_json()).encode("utf-8", "surrogatepass")).hexdigest()
        known = await self._known.get(result_key(digest))
        if known is not None:
            try:
                return ToolResult.from_json(known)
            except (KeyError, TypeError, ValueError, AttributeError):
                pass  # Damaged: it is as good as none.
        raise ReplayMiss(
            f"No run in the journal has called {call.tool} with these arguments, and --tools replay calls nothing."
        )

    async def close(self) -> None:
        """Nothing was started."""
