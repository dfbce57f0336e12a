"""Functions of the user's in the place of tools, run in the sandbox: for evaluations and cases that call no server."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.calls.tool_servers import FIRST_LEG, AsksMeanwhile, Pinned
from merrow_runtime.errors import ToolFailure
from merrow_runtime.models.tool_servers import MAX_RESULT
from merrow_runtime.outside.fake_functions import FakeFile
from merrow_runtime.outside.pinned_results import check_result
from merrow_runtime.requests import ToolCall, ToolLeg, ToolResult
from merrow_runtime.values import canonical

if TYPE_CHECKING:
    from merrow_runtime.sandbox import Sandbox

_ENTRY = "_merrow_call"
_CALLED = f"""

def {_ENTRY}(name, given):
    import asyncio, inspect, json
    result = globals()[name](**json.loads(given))
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    return json.dumps(result, allow_nan=False)
"""


class FakeTools:
    """`merrow_runtime.calls.tool_servers.ToolServers` of the functions of a file. Each call is a process of its own, so that
    nothing is remembered from one to the next. A function that raises is a tool that failed.
    """

    def __init__(self, file: FakeFile) -> None:
        self._file = file
        self._functions: dict[Pinned, tuple[str, PinnedTool | None]] = {}
        self._sandbox: Sandbox | None = None

    @property
    def are_real(self) -> bool:
        """They are not."""
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
        """See `ToolServers.check`."""
        del folder, unattended, offered
        missing = [pinned for pinned in tools if pinned not in self._functions]
        known = pins() if missing else {}
        for pinned in missing:
            pin = known.get(pinned)
            self._functions[pinned] = self._file.function_for(pinned[0], tools[pinned], pin), pin

    def may_repeat(self, call: ToolCall) -> bool:
        """See `ToolServers.may_repeat`: it does nothing outside of the sandbox."""
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
        """See `ToolServers.call`; functions ask nobody."""
        del leg, asks, ends
        from merrow_runtime.sandbox import Sandbox, SandboxJob, SandboxRefusedError

        function, pin = self._functions[call.tool, call.pin]
        if self._sandbox is None:
            self._sandbox = Sandbox()
        job = SandboxJob(
            self._file.text + _CALLED,
            entry=_ENTRY,
            arguments=(function, canonical(call.arguments)),
            timeout_s=seconds,
        )
        try:
            came = await self._sandbox.run(job)
        except SandboxRefusedError as refusal:
            raise ToolFailure(str(refusal)) from None
        if came.outcome == "error":
            return ToolResult(came.error, failed=True)
        if came.outcome != "ok" or came.value is None:
            raise ToolFailure(f"{function} in the place of {call.tool} gave no result. {came.error}", answered=True)
        return self._result(call.tool, pin, function, came.value)

    async def close(self) -> None:
        """Nothing was started."""

    def _result(self, tool: str, pin: PinnedTool | None, function: str, written: str) -> ToolResult:
        """The result of a function from its JSON, which may be anything that the file wanted to be taken for it."""
        if len(written) > MAX_RESULT:
            raise ToolFailure(
                f"{function} in the place of {tool} gave more than {MAX_RESULT:,} characters.", answered=True
            )
        try:
            value: Any = json.loads(written)
        except (ValueError, RecursionError):
            raise ToolFailure(f"{function} in the place of {tool} gave no value of JSON.", answered=True) from None
        structured = None if pin is None or pin.output_schema is None else value
        check_result(tool, pin, structured)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return ToolResult(text, structured if isinstance(structured, dict) else None)
